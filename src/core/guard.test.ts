import { describe, expect, it } from "vitest";
import { fault } from "./fault.ts";
import { type Admission, ALLOW, type Guard, judge, type Verdict } from "./guard.ts";

const admission = { step: { spec: { step_id: "send" } } } as unknown as Admission;
const guard = (answer: unknown, id = "mine"): Guard => ({ id, judge: () => answer as Verdict });
const hold = (rule: string, role: string | null = null) =>
  ({ kind: "hold", rule, reason: "a person decides", demand: { role } }) as const;
const refuse = (rule: string) => ({ kind: "refuse", rule, fault: fault("POLICY_DENIED", "no") }) as const;

describe("the guards", () => {
  it("allow when nobody objects", () => {
    expect(judge([], admission)).toEqual(ALLOW);
    expect(judge([guard(ALLOW), guard(ALLOW)], admission)).toEqual(ALLOW);
  });

  it("hold with the first reason to hold, unless someone refuses", () => {
    expect(judge([guard(hold("a"))], admission)).toEqual(hold("a"));
    expect(judge([guard(hold("a")), guard(hold("b"))], admission)).toMatchObject(hold("a"));
    expect(judge([guard(hold("a")), guard(refuse("b"))], admission)).toMatchObject(refuse("b"));
  });

  it("hold for the role that any of them names, wherever it stands", () => {
    expect(judge([guard(hold("mode")), guard(hold("payments", "cfo"))], admission)).toMatchObject(
      hold("payments", "cfo"),
    );
    expect(judge([guard(hold("payments", "cfo")), guard(hold("mode"))], admission)).toMatchObject(
      hold("payments", "cfo"),
    );
    expect(judge([guard(hold("a", "cfo")), guard(hold("b", "cfo"))], admission)).toMatchObject(hold("a", "cfo"));
  });

  it("hold for all that any of them asks for, and say why of each", () => {
    const answer = judge([guard(hold("a", "cfo")), guard(hold("b", "nurse"))], admission);
    expect(answer).toMatchObject({
      kind: "hold",
      rule: "a",
      reason: "a person decides; a person decides",
      demand: { role: "cfo", and: [{ role: "nurse" }] },
    });
  });

  it("refuse what asks for nobody that there could be", () => {
    const answer = judge([guard({ ...hold("a"), demand: { role: null, people: 0 } })], admission);
    expect(answer).toMatchObject({ kind: "refuse", rule: "mine", fault: { code: "POLICY_DENIED" } });
  });

  it("say everything that was said against it, and not only what won", () => {
    const { basis } = judge(
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

  it("say which policy had a say, though it had nothing against it", () => {
    const basis = { policy: "p1", passed: ["fine"], objections: [] };
    expect(judge([guard({ kind: "allow", basis }), guard(ALLOW)], admission)).toEqual({ kind: "allow", basis });
    expect(judge([guard({ kind: "allow", basis }), guard(hold("a"))], admission)).toEqual({
      ...hold("a"),
      basis: { ...basis, objections: [{ rule: "a", says: "hold", reason: "a person decides" }] },
    });
    const more = { ...basis, objections: [{ rule: "x", says: "hold", reason: "why" }] };
    expect(judge([guard({ ...hold("x"), basis: more }), guard(refuse("b"))], admission).basis?.objections).toEqual([
      { rule: "x", says: "hold", reason: "why" },
      { rule: "b", says: "refuse", reason: "no" },
    ]);
  });

  it.each([
    ["nothing", undefined],
    ["a basis that is none", { kind: "allow", basis: "because" }],
    ["a basis of a policy without a name", { kind: "allow", basis: { policy: 1, passed: [], objections: [] } }],
    ["a basis that does not list what passed", { kind: "allow", basis: { policy: "p", passed: 1, objections: [] } }],
    ["a basis that does not list what was said", { kind: "allow", basis: { policy: null, passed: [] } }],
    ["null", null],
    ["yes", "yes"],
    ["a promise", Promise.resolve(ALLOW)],
    ["a word that nobody knows", { kind: "allowed", rule: "r" }],
    ["a hold without a rule", { kind: "hold", reason: "why", demand: { role: null } }],
    ["a hold without a reason", { kind: "hold", rule: "r", demand: { role: null } }],
    ["a hold without a demand", { kind: "hold", rule: "r", reason: "why" }],
    ["a refusal without a fault", { kind: "refuse", rule: "r" }],
    ["a refusal with a code that nobody knows", { kind: "refuse", rule: "r", fault: { code: "NOPE", message: "" } }],
  ])("refuse when one of them answers with %s", (_, answer) => {
    expect(judge([guard(answer)], admission)).toMatchObject({
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
    expect(judge([broken], admission)).toMatchObject({ kind: "refuse", rule: "broken" });
  });
});
