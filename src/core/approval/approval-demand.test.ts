import { describe, expect, it } from "vitest";
import type { Instant } from "../values/ids.ts";
import {
  combineDemands,
  type Demand,
  demandText,
  isConfirmation,
  isDemand,
  isDemandMet,
  mayVote,
  nextEscalationAt,
} from "./approval-demand.ts";

const at = (ms: number) => ms as Instant;
const vote = (by: string, roles: readonly string[] = [], when = 0) => ({ by, roles, at: at(when) });
const poll = (demand: Demand) => ({ demand, requester: "robin", opened_at: at(0) });
const cfo: Demand = { role: "cfo" };
const two: Demand = { role: null, people: 2 };
const confirmation: Demand = { role: null, kind: "confirmation" };

describe("a demand", () => {
  it.each<[string, Demand, readonly ReturnType<typeof vote>[], boolean]>([
    ["anyone", { role: null }, [], false],
    ["anyone", { role: null }, [vote("ana")], true],
    ["anyone but the requester", { role: null }, [vote("robin")], false],
    ["anyone, including the requester", { role: null, self: true }, [vote("robin")], true],
    ["a person with a role", cfo, [vote("ana", ["clerk"])], false],
    ["a person with a role", cfo, [vote("bob", ["clerk", "cfo"])], true],
    ["two people", two, [vote("ana")], false],
    ["two people, not one person twice", two, [vote("ana"), vote("ana")], false],
    ["two people", two, [vote("ana"), vote("bob")], true],
    ["two people, neither of them the requester", two, [vote("ana"), vote("robin")], false],
    [
      "two people with a role",
      { role: "cfo", people: 2 },
      [vote("ana"), vote("bob", ["cfo"]), vote("cleo", ["cfo"])],
      true,
    ],
    ["two people with a role", { role: "cfo", people: 2 }, [vote("ana"), vote("bob", ["cfo"])], false],
    ["named people", { role: null, approvers: ["ana"] }, [vote("bob")], false],
    ["named people", { role: null, approvers: ["ana"] }, [vote("ana")], true],
    ["named people with a role", { role: "cfo", approvers: ["ana"] }, [vote("ana")], false],
    ["two parts", { ...cfo, and: [{ role: "legal" }] }, [vote("bob", ["cfo"])], false],
    ["two parts", { ...cfo, and: [{ role: "legal" }] }, [vote("bob", ["cfo"]), vote("lea", ["legal"])], true],
    [
      "two parts, met by one person with both roles",
      { ...cfo, and: [{ role: "legal" }] },
      [vote("cleo", ["cfo", "legal"])],
      true,
    ],
    ["a confirmation", confirmation, [vote("robin")], true],
  ])("for %s is met only by enough votes that count: %j, %j", (_, demand, votes, met) => {
    expect(isDemandMet(poll(demand), votes)).toBe(met);
  });

  it("counts the votes of further people from the time of its escalation", () => {
    const demand: Demand = { ...cfo, escalate: { after_ms: 10, role: "board" } };
    expect(isDemandMet(poll(demand), [vote("bea", ["board"], 9)])).toBe(false);
    expect(isDemandMet(poll(demand), [vote("bea", ["board"], 10)])).toBe(true);
    expect(isDemandMet(poll(demand), [vote("bob", ["cfo"], 10)])).toBe(true);
    expect(isDemandMet(poll(demand), [vote("robin", ["board"], 10)])).toBe(false);
    const named: Demand = { ...cfo, escalate: { after_ms: 10, role: null, approvers: ["dan"] } };
    expect(mayVote(poll(named), vote("dan", [], 10))).toBe(true);
    expect(mayVote(poll(named), vote("eve", [], 10))).toBe(false);
  });

  it("escalates at the time of each of its parts", () => {
    const demand: Demand = {
      ...cfo,
      escalate: { after_ms: 10, role: "board" },
      and: [{ role: "legal", escalate: { after_ms: 30, role: "board" } }],
    };
    expect(nextEscalationAt(poll(demand), at(0))).toBe(10);
    expect(nextEscalationAt(poll(demand), at(10))).toBe(30);
    expect(nextEscalationAt(poll(demand), at(30))).toBeNull();
    expect(nextEscalationAt(poll(cfo), at(0))).toBeNull();
  });

  it("is described in words", () => {
    expect(demandText({ role: null })).toBe("a person");
    expect(demandText({ ...two, and: [cfo] })).toBe("2 people, and a cfo");
    expect(demandText({ role: "cfo", people: 3, approvers: ["ana", "bob"] })).toBe("3 of cfo among ana, bob");
    expect(demandText(confirmation)).toBe("a person or the requester");
    expect(demandText({ ...cfo, escalate: { after_ms: 1, role: "board" } })).toBe("a cfo, later also board");
    expect(demandText({ ...cfo, escalate: { after_ms: 1, role: null, approvers: ["dan"] } })).toBe(
      "a cfo, later also dan",
    );
    expect(demandText({ ...cfo, escalate: { after_ms: 1, role: null } })).toBe("a cfo, later also anyone");
  });
});

describe("two demands", () => {
  it.each<[string, Demand, Demand, Demand]>([
    ["equal demands are one demand", cfo, cfo, cfo],
    ["a role covers any person", cfo, { role: null }, cfo],
    ["more people cover fewer", two, { role: null, people: 3 }, { role: null, people: 3 }],
    ["two roles are two parts", cfo, { role: "legal" }, { ...cfo, and: [{ role: "legal" }] }],
    ["two people and a role are two parts", two, cfo, { ...two, and: [cfo] }],
    [
      "fewer names cover more names",
      { role: null, approvers: ["a", "b"] },
      { role: null, approvers: ["a"] },
      { role: null, approvers: ["a"] },
    ],
    ["names cover any person", { role: null, approvers: ["a"] }, { role: null }, { role: null, approvers: ["a"] }],
    [
      "the requester may vote if both demands allow it",
      { role: null, self: true },
      { role: null, self: true },
      { role: null, self: true },
    ],
    [
      "a role with an escalation covers any person",
      { ...cfo, escalate: { after_ms: 1, role: "b" } },
      { role: null },
      { ...cfo, escalate: { after_ms: 1, role: "b" } },
    ],
    [
      "names with an escalation do not cover the names alone",
      { role: null, approvers: ["a"], escalate: { after_ms: 1, role: "b" } },
      { role: null, approvers: ["a"] },
      { role: null, approvers: ["a"] },
    ],
    [
      "the requester may not vote unless both demands allow it",
      { role: null, self: true },
      { role: null },
      { role: null },
    ],
    ["any approval covers a confirmation", cfo, confirmation, cfo],
    ["any approval covers a confirmation", { role: null, self: true }, confirmation, { role: null, self: true }],
    ["two confirmations are one confirmation", confirmation, confirmation, confirmation],
    [
      "a role with an escalation does not cover the role alone",
      { ...cfo, escalate: { after_ms: 1, role: "b" } },
      cfo,
      cfo,
    ],
    ["the shortest time applies", { ...cfo, within_ms: 9 }, { role: null, within_ms: 5 }, { ...cfo, within_ms: 5 }],
    [
      "three roles are three parts",
      { ...cfo, and: [{ role: "legal" }] },
      { role: "hr" },
      { ...cfo, and: [{ role: "legal" }, { role: "hr" }] },
    ],
  ])("are combined: %s", (_, one, other, all) => {
    expect(combineDemands(one, other)).toEqual(all);
    const reversed = combineDemands(other, one);
    const parts = ({ and = [], within_ms: _within, ...first }: Demand) => [first, ...and];
    expect(new Set(parts(reversed).map((part) => JSON.stringify(part)))).toEqual(
      new Set(parts(all).map((part) => JSON.stringify(part))),
    );
  });

  it("are a confirmation only if both are", () => {
    expect(isConfirmation(combineDemands(confirmation, confirmation))).toBe(true);
    expect(isConfirmation(combineDemands(confirmation, { role: null }))).toBe(false);
    expect(isConfirmation(cfo)).toBe(false);
    expect(isConfirmation({ ...confirmation, and: [cfo] })).toBe(false);
  });
});

describe("a valid demand of a guard", () => {
  it.each<unknown>([
    { role: null },
    { role: "cfo", people: 2, approvers: ["ana", "bob"], self: true, within_ms: 1 },
    { role: null, kind: "confirmation" },
    { role: null, people: 20, within_ms: 366 * 86_400_000 },
    { role: null, approvers: Array.from({ length: 200 }, (_, nth) => `p${nth}`) },
    { role: "cfo", escalate: { after_ms: 5, role: "board", approvers: ["x"] }, and: [{ role: null }] },
  ])("is %j", (demand) => expect(isDemand(demand)).toBe(true));

  it.each<unknown>([
    {},
    null,
    [],
    { role: 1 },
    { role: null, people: 0 },
    { role: null, people: 1.5 },
    { role: null, people: 21 },
    { role: null, people: Number.NaN },
    { role: null, approvers: [] },
    { role: null, approvers: [1] },
    { role: null, approvers: ["ana", 1] },
    { role: null, approvers: Array.from({ length: 201 }, (_, nth) => `p${nth}`) },
    { role: null, escalate: null },
    { role: null, escalate: 5 },
    { role: null, and: [{ role: null }, {}] },
    { role: null, approvers: "ana" },
    { role: null, self: false },
    { role: null, kind: "approval" },
    { role: "cfo", kind: "confirmation" },
    { role: null, kind: "confirmation", people: 2 },
    { role: null, within_ms: 0 },
    { role: null, within_ms: Number.POSITIVE_INFINITY },
    { role: null, escalate: {} },
    { role: null, escalate: { after_ms: 0, role: null } },
    { role: null, escalate: { after_ms: 1, role: null, more: 1 } },
    { role: null, and: {} },
    { role: null, and: [{}] },
    { role: null, and: [{ role: null, and: [] }] },
    { role: null, quorum: 2 },
  ])("is not %j", (demand) => expect(isDemand(demand)).toBe(false));
});
