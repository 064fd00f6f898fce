import { describe, expect, it } from "vitest";
import type { Instant, RunId } from "../values/ids.ts";
import { evolvePolicies, noPolicies, type PolicyEvent, policyPuts } from "./tenant-policies.ts";

const sets = (place: string): PolicyEvent => ({ type: "policy.set", at: 0 as Instant, by: "ana", place, document: {} });
const removes = (place: string): PolicyEvent => ({ type: "policy.removed", at: 0 as Instant, by: "ana", place });

describe("a tenant's policies", () => {
  it("are the latest documents of each place, in the order in which the places were first set", () => {
    const events = [sets("a"), sets("b"), sets("a"), sets("c"), removes("b"), removes("x")];
    const rows = events.reduce((row, event, index) => evolvePolicies(row, event, index + 1), noPolicies);
    expect(rows.policies).toEqual([
      { place: "a", position: 3 },
      { place: "c", position: 4 },
    ]);
  });

  it("are one row, and each event is its next version", () => {
    expect(policyPuts("pol_x" as RunId, [sets("a"), removes("a")])).toEqual([
      { table: "setting", key: "pol_x", was: null, row: '{"policies":[{"place":"a","position":1}]}' },
      { table: "setting", key: "pol_x", was: 1, row: '{"policies":[]}' },
    ]);
  });
});
