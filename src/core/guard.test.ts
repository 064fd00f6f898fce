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
    expect(judge([guard(hold("a")), guard(hold("b"))], admission)).toEqual(hold("a"));
    expect(judge([guard(hold("a")), guard(refuse("b"))], admission)).toEqual(refuse("b"));
  });

  it("hold for the role that any of them names, wherever it stands", () => {
    expect(judge([guard(hold("mode")), guard(hold("payments", "cfo"))], admission)).toEqual(hold("payments", "cfo"));
    expect(judge([guard(hold("payments", "cfo")), guard(hold("mode"))], admission)).toEqual(hold("payments", "cfo"));
    expect(judge([guard(hold("a", "cfo")), guard(hold("b", "cfo"))], admission)).toEqual(hold("a", "cfo"));
  });

  it("refuse what would need two people, because a gate asks for one", () => {
    const answer = judge([guard(hold("a", "cfo")), guard(hold("b", "nurse"))], admission);
    expect(answer).toMatchObject({ kind: "refuse", rule: "b", fault: { code: "POLICY_DENIED" } });
  });

  it.each([
    ["nothing", undefined],
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
