import { describe, expect, it } from "vitest";
import { bothOf, type Demand, demandText, escalatesAfter, isConfirmation, isDemand, isMet, mayVote } from "./demand.ts";
import type { Instant } from "./id.ts";

const at = (ms: number) => ms as Instant;
const vote = (by: string, roles: readonly string[] = [], when = 0) => ({ by, roles, at: at(when) });
const poll = (demand: Demand) => ({ demand, requester: "robin", opened_at: at(0) });
const cfo: Demand = { role: "cfo" };
const two: Demand = { role: null, people: 2 };
const meant: Demand = { role: null, kind: "confirmation" };

describe("a demand", () => {
  it.each<[string, Demand, readonly ReturnType<typeof vote>[], boolean]>([
    ["anyone", { role: null }, [], false],
    ["anyone", { role: null }, [vote("ana")], true],
    ["anyone but who asked", { role: null }, [vote("robin")], false],
    ["anyone, also who asked", { role: null, self: true }, [vote("robin")], true],
    ["someone with a role", cfo, [vote("ana", ["clerk"])], false],
    ["someone with a role", cfo, [vote("bob", ["clerk", "cfo"])], true],
    ["two people", two, [vote("ana")], false],
    ["two people, not one of them twice", two, [vote("ana"), vote("ana")], false],
    ["two people", two, [vote("ana"), vote("bob")], true],
    ["two people, neither of them who asked", two, [vote("ana"), vote("robin")], false],
    ["two with a role", { role: "cfo", people: 2 }, [vote("ana"), vote("bob", ["cfo"]), vote("cleo", ["cfo"])], true],
    ["two with a role", { role: "cfo", people: 2 }, [vote("ana"), vote("bob", ["cfo"])], false],
    ["some by name", { role: null, approvers: ["ana"] }, [vote("bob")], false],
    ["some by name", { role: null, approvers: ["ana"] }, [vote("ana")], true],
    ["some by name, with a role", { role: "cfo", approvers: ["ana"] }, [vote("ana")], false],
    ["all that two ask for", { ...cfo, and: [{ role: "legal" }] }, [vote("bob", ["cfo"])], false],
    [
      "all that two ask for",
      { ...cfo, and: [{ role: "legal" }] },
      [vote("bob", ["cfo"]), vote("lea", ["legal"])],
      true,
    ],
    ["all, by one who is both", { ...cfo, and: [{ role: "legal" }] }, [vote("cleo", ["cfo", "legal"])], true],
    ["a confirmation", meant, [vote("robin")], true],
  ])("for %s is met by enough of them: %j, %j", (_, demand, votes, met) => {
    expect(isMet(poll(demand), votes)).toBe(met);
  });

  it("is also for others once nobody has decided for so long, and for what they said by then", () => {
    const demand: Demand = { ...cfo, escalate: { after_ms: 10, role: "board" } };
    expect(isMet(poll(demand), [vote("bea", ["board"], 9)])).toBe(false);
    expect(isMet(poll(demand), [vote("bea", ["board"], 10)])).toBe(true);
    expect(isMet(poll(demand), [vote("bob", ["cfo"], 10)])).toBe(true);
    expect(isMet(poll(demand), [vote("robin", ["board"], 10)])).toBe(false);
    const named: Demand = { ...cfo, escalate: { after_ms: 10, role: null, approvers: ["dan"] } };
    expect(mayVote(poll(named), vote("dan", [], 10))).toBe(true);
    expect(mayVote(poll(named), vote("eve", [], 10))).toBe(false);
  });

  it("tells the others one circle after the other", () => {
    const demand: Demand = {
      ...cfo,
      escalate: { after_ms: 10, role: "board" },
      and: [{ role: "legal", escalate: { after_ms: 30, role: "board" } }],
    };
    expect(escalatesAfter(poll(demand), at(0))).toBe(10);
    expect(escalatesAfter(poll(demand), at(10))).toBe(30);
    expect(escalatesAfter(poll(demand), at(30))).toBeNull();
    expect(escalatesAfter(poll(cfo), at(0))).toBeNull();
  });

  it("is told in words", () => {
    expect(demandText({ role: null })).toBe("a person");
    expect(demandText({ ...two, and: [cfo] })).toBe("2 people, and a cfo");
    expect(demandText({ role: "cfo", people: 3, approvers: ["ana", "bob"] })).toBe("3 of cfo among ana, bob");
    expect(demandText(meant)).toBe("a person or whoever asked");
    expect(demandText({ ...cfo, escalate: { after_ms: 1, role: "board" } })).toBe("a cfo, later also board");
    expect(demandText({ ...cfo, escalate: { after_ms: 1, role: null, approvers: ["dan"] } })).toBe(
      "a cfo, later also dan",
    );
    expect(demandText({ ...cfo, escalate: { after_ms: 1, role: null } })).toBe("a cfo, later also anyone");
  });
});

describe("two demands", () => {
  it.each<[string, Demand, Demand, Demand]>([
    ["the same is asked once", cfo, cfo, cfo],
    ["a role is more than anyone", cfo, { role: null }, cfo],
    ["more people are more", two, { role: null, people: 3 }, { role: null, people: 3 }],
    ["two roles are two", cfo, { role: "legal" }, { ...cfo, and: [{ role: "legal" }] }],
    ["two people and a role are both", two, cfo, { ...two, and: [cfo] }],
    [
      "fewer names are more",
      { role: null, approvers: ["a", "b"] },
      { role: null, approvers: ["a"] },
      { role: null, approvers: ["a"] },
    ],
    ["names are more than anyone", { role: null, approvers: ["a"] }, { role: null }, { role: null, approvers: ["a"] }],
    ["both may say so", { role: null, self: true }, { role: null, self: true }, { role: null, self: true }],
    [
      "who may decide later is more than anyone",
      { ...cfo, escalate: { after_ms: 1, role: "b" } },
      { role: null },
      { ...cfo, escalate: { after_ms: 1, role: "b" } },
    ],
    [
      "who may decide later is not one of some",
      { role: null, approvers: ["a"], escalate: { after_ms: 1, role: "b" } },
      { role: null, approvers: ["a"] },
      { role: null, approvers: ["a"] },
    ],
    ["who asks may not, unless both say so", { role: null, self: true }, { role: null }, { role: null }],
    ["any approval confirms", cfo, meant, cfo],
    ["any approval confirms", { role: null, self: true }, meant, { role: null, self: true }],
    ["a confirmation is one", meant, meant, meant],
    ["who may decide later is no cfo", { ...cfo, escalate: { after_ms: 1, role: "b" } }, cfo, cfo],
    ["the shortest time is the time", { ...cfo, within_ms: 9 }, { role: null, within_ms: 5 }, { ...cfo, within_ms: 5 }],
    [
      "three are three",
      { ...cfo, and: [{ role: "legal" }] },
      { role: "hr" },
      { ...cfo, and: [{ role: "legal" }, { role: "hr" }] },
    ],
  ])("are one: %s", (_, one, other, all) => {
    expect(bothOf(one, other)).toEqual(all);
    const turned = bothOf(other, one);
    const parts = ({ and = [], within_ms: _within, ...first }: Demand) => [first, ...and];
    expect(new Set(parts(turned).map((part) => JSON.stringify(part)))).toEqual(
      new Set(parts(all).map((part) => JSON.stringify(part))),
    );
  });

  it("are only a confirmation if both are", () => {
    expect(isConfirmation(bothOf(meant, meant))).toBe(true);
    expect(isConfirmation(bothOf(meant, { role: null }))).toBe(false);
    expect(isConfirmation(cfo)).toBe(false);
    expect(isConfirmation({ ...meant, and: [cfo] })).toBe(false);
  });
});

describe("what a guard may ask for", () => {
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
