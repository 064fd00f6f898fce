import { describe, expect, it } from "vitest";
import { findWrongEvictions } from "../../chaos/check-evictions.ts";
import { checkHistory } from "../../chaos/check-history.ts";
import { type HistoryLine, parseHistory } from "../../chaos/store-history.ts";
import {
  accepted,
  append,
  byAna,
  type CallLines,
  call,
  claim,
  first,
  journal,
  landed,
  late,
  linesOf,
} from "./history-lines.ts";

describe("history of a store that evicts workers", () => {
  const evictedViolations = (lines: readonly HistoryLine[], stored: readonly string[]): readonly string[] =>
    checkHistory(parseHistory(lines), new Map([["run", stored]]), true);
  const byBobAfterEviction = claim("bob", 3);
  const ofBob = append("bob", { at: 2, epoch: 3, events: ["c", "d"] }, landed);

  it("may contain a fence before the next claim, or without one", () => {
    expect(evictedViolations(linesOf(accepted, byAna, first, late, byBobAfterEviction, ofBob), journal)).toEqual([]);
    expect(evictedViolations(linesOf(accepted, byAna, first, late), ["a", "b"])).toEqual([]);
  });

  it("may not contain an append of an epoch after one that was fenced", () => {
    const again = append("ana", { at: 2, epoch: 1, events: ["y"] }, landed);
    const lines = linesOf(accepted, byAna, first, late, again, byBobAfterEviction);
    expect(evictedViolations(lines, ["a", "b", "y"]).join()).toMatch(/answered before/);
  });

  it("may not contain an append under the epoch of an eviction", () => {
    const under = append("eve", { at: 2, epoch: 2, events: ["c", "d"] }, landed);
    const lines = linesOf(accepted, byAna, first, under, byBobAfterEviction);
    expect(evictedViolations(lines, journal).join()).toMatch(/that epoch was never granted/);
  });
});

describe("lease that a worker lost", () => {
  const wrong = (...calls: readonly (CallLines | HistoryLine)[]): number =>
    findWrongEvictions(parseHistory(linesOf(...calls))).length;
  const toBob = claim("bob", 3);
  const worker = (fault: "is killed" | "is stopped" | "continues" | "ends"): HistoryLine => ({ worker: "ana", fault });
  const renewal = (...claims: readonly [string, number][]) => call("ana", { do: "renew", claims }, { renewed: claims });

  it("is explained by its release, a kill, a stop, or a renewal without it", () => {
    const release = call("ana", { do: "release", claim: ["run", 1] }, { done: true });
    expect(wrong(byAna, release, claim("bob", 2))).toBe(0);
    expect(wrong(byAna, worker("is killed"), toBob)).toBe(0);
    expect(wrong(byAna, worker("is stopped"), toBob, worker("continues"))).toBe(0);
    expect(wrong(byAna, worker("is stopped"), worker("continues"), toBob)).toBe(0);
    expect(wrong(byAna, renewal(), toBob)).toBe(0);
    expect(wrong(byAna, worker("ends"), toBob)).toBe(0);
  });

  it("is a finding if its worker was running", () => {
    expect(wrong(byAna, toBob)).toBe(1);
    expect(wrong(byAna, renewal(["run", 1]), toBob)).toBe(1);
    expect(wrong(worker("is stopped"), worker("continues"), byAna, toBob)).toBe(1);
    expect(wrong(byAna, { worker: "bob", fault: "is killed" }, toBob)).toBe(1);
  });

  it("is a finding if the worker claims the run again after it was evicted", () => {
    expect(wrong(byAna, claim("ana", 2))).toBe(0);
    expect(wrong(byAna, claim("ana", 3))).toBe(1);
  });
});
