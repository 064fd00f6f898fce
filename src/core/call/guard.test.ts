import { describe, expect, it } from "vitest";
import { fault } from "../values/fault.ts";
import { type Admission, ALLOW, evaluateGuards, type Guard, type Verdict } from "./guard.ts";

const admission = { step: { spec: { step_id: "send" } } } as unknown as Admission;
const guard = (answer: unknown, id = "mine"): Guard => ({ id, judge: () => answer as Verdict });
const hold = (rule: string, role: string | null = null) =>
  ({ kind: "hold", rule, reason: "a person decides", demand: { role } }) as const;
const refuse = (rule: string) => ({ kind: "refuse", rule, fault: fault("POLICY_DENIED", "no") }) as const;

describe("the guards", () => {
  it("allow a call without objections", () => {
    expect(evaluateGuards([], admission)).toEqual(ALLOW);
    expect(evaluateGuards([guard(ALLOW), guard(ALLOW)], admission)).toEqual(ALLOW);
  });

  it("hold with the first reason, unless a guard refuses", () => {
    expect(evaluateGuards([guard(hold("a"))], admission)).toEqual(hold("a"));
    expect(evaluateGuards([guard(hold("a")), guard(hold("b"))], admission)).toMatchObject(hold("a"));
    expect(evaluateGuards([guard(hold("a")), guard(refuse("b"))], admission)).toMatchObject(refuse("b"));
  });

  it("hold for the role that one of them demands, in any order", () => {
    expect(evaluateGuards([guard(hold("mode")), guard(hold("payments", "cfo"))], admission)).toMatchObject(
      hold("payments", "cfo"),
    );
    expect(evaluateGuards([guard(hold("payments", "cfo")), guard(hold("mode"))], admission)).toMatchObject(
      hold("payments", "cfo"),
    );
    expect(evaluateGuards([guard(hold("a", "cfo")), guard(hold("b", "cfo"))], admission)).toMatchObject(
      hold("a", "cfo"),
    );
  });

  it("hold with the combined demand and reasons of all of them", () => {
    const answer = evaluateGuards([guard(hold("a", "cfo")), guard(hold("b", "nurse"))], admission);
    expect(answer).toMatchObject({
      kind: "hold",
      rule: "a",
      reason: "a person decides; a person decides",
      demand: { role: "cfo", and: [{ role: "nurse" }] },
    });
  });

  it("refuse if one of them demands zero people", () => {
    const answer = evaluateGuards([guard({ ...hold("a"), demand: { role: null, people: 0 } })], admission);
    expect(answer).toMatchObject({ kind: "refuse", rule: "mine", fault: { code: "POLICY_DENIED" } });
  });

  it("list all objections, not only the one that wins", () => {
    const { basis } = evaluateGuards(
      [guard(hold("a")), guard(ALLOW), guard(hold("b")), guard(refuse("c")), guard(hold("d"))],
      admission,
    );
    expect(basis).toEqual({
      policy: null,
      passed: [],
      objections: [
        { rule: "a", says: "hold", reason: "a person decides" },
        { rule: "b", says: "hold", reason: "a person decides" },
        { rule: "c", says: "refuse", reason: "no" },
      ],
    });
  });

  it("name the policy also if it has no objection", () => {
    const basis = { policy: "p1", passed: ["fine"], objections: [] };
    expect(evaluateGuards([guard({ kind: "allow", basis }), guard(ALLOW)], admission)).toEqual({
      kind: "allow",
      basis,
    });
    expect(evaluateGuards([guard({ kind: "allow", basis }), guard(hold("a"))], admission)).toEqual({
      ...hold("a"),
      basis: { ...basis, objections: [{ rule: "a", says: "hold", reason: "a person decides" }] },
    });
    const more = { ...basis, objections: [{ rule: "x", says: "hold", reason: "why" }] };
    expect(
      evaluateGuards([guard({ ...hold("x"), basis: more }), guard(refuse("b"))], admission).basis?.objections,
    ).toEqual([
      { rule: "x", says: "hold", reason: "why" },
      { rule: "b", says: "refuse", reason: "no" },
    ]);
  });

  it.each([
    ["nothing", undefined],
    ["a basis that is not an object", { kind: "allow", basis: "because" }],
    ["a basis of a policy without a name", { kind: "allow", basis: { policy: 1, passed: [], objections: [] } }],
    ["a basis without a list of passed rules", { kind: "allow", basis: { policy: "p", passed: 1, objections: [] } }],
    ["a basis without a list of objections", { kind: "allow", basis: { policy: null, passed: [] } }],
    ["null", null],
    ["yes", "yes"],
    ["a promise", Promise.resolve(ALLOW)],
    ["an unknown kind", { kind: "allowed", rule: "r" }],
    ["a hold without a rule", { kind: "hold", reason: "why", demand: { role: null } }],
    ["a hold without a reason", { kind: "hold", rule: "r", demand: { role: null } }],
    ["a hold without a demand", { kind: "hold", rule: "r", reason: "why" }],
    ["a refusal without a fault", { kind: "refuse", rule: "r" }],
    ["a refusal with an unknown code", { kind: "refuse", rule: "r", fault: { code: "NOPE", message: "" } }],
  ])("refuse when one of them returns %s", (_, answer) => {
    expect(evaluateGuards([guard(answer)], admission)).toMatchObject({
      kind: "refuse",
      rule: "mine",
      fault: { code: "POLICY_DENIED" },
    });
  });

  it.each([new Error("lost my way"), "not even an error"])("refuse when one of them throws %s", (thrown) => {
    const broken: Guard = {
      id: "broken",
      judge: () => {
        throw thrown;
      },
    };
    expect(evaluateGuards([broken], admission)).toMatchObject({ kind: "refuse", rule: "broken" });
  });
});
