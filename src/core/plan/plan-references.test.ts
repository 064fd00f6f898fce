import { describe, expect, it } from "vitest";
import { countOperations } from "../../../tests/core/operation-count.ts";
import { acceptedPlan, planReasons, secondStep, secondStepReasons } from "../../../tests/core/plan-fixture.ts";

const whole = { step: "first", path: "" };

function bound(target: string, source: unknown = whole, payload: object = {}): readonly string[] {
  return secondStepReasons({ payload, bindings: { [target]: source } });
}

describe("a dependency", () => {
  it("is named once, by the id of another step", () => {
    expect(secondStep({ depends_on: ["first"] }).depends_on).toEqual(["first"]);
    expect(secondStepReasons({ depends_on: ["first", "first"] })).toEqual([
      "/depends_on/1: first is named twice; name it once",
    ]);
    expect(secondStepReasons({ depends_on: ["second"] })).toEqual(["/depends_on/0: second cannot wait for itself"]);
    expect(secondStepReasons({ depends_on: ["frist"] })).toEqual([
      "/depends_on/0: no step has the name frist; did you mean first?",
    ]);
    expect(secondStepReasons({ depends_on: [5] })).toEqual(["/depends_on/0: must be the id of a step"]);
    expect(secondStepReasons({ depends_on: "first" })).toEqual(["/depends_on: must be a list"]);
  });

  it("follows from a binding, a precondition and an assertion, without repetition", () => {
    const steps = [
      { step_id: "a", name: "ask" },
      { step_id: "b", name: "ask" },
      {
        step_id: "c",
        name: "ask",
        depends_on: ["b"],
        bindings: { "/x": { step: "a", path: "/x" }, "/y": { step: "b", path: "" } },
        preconditions: [{ step: "a", path: "/ok", operator: "eq", value: true }],
      },
    ];
    expect(acceptedPlan({ steps }).steps[2]?.depends_on).toEqual(["b", "a"]);
  });
});

describe("a binding", () => {
  it("is normalised", () => {
    const bindings = { "/a": { step: "first", path: "/x" }, "/b~1c/0": { step: "first", path: "", as: "sha256" } };
    expect(secondStep({ bindings, payload: { "b/c": [null] } }).bindings).toEqual({
      "/a": { step: "first", path: "/x", as: "value" },
      "/b~1c/0": { step: "first", path: "", as: "sha256" },
    });
  });

  it.each([
    ["body", {}, "must be a JSON pointer into the payload"],
    ["", {}, "must be a JSON pointer into the payload"],
    ["/~", {}, "must be a JSON pointer into the payload"],
    ["/a".repeat(65), {}, "must not be deeper than 64 levels"],
    ["/a/b", { a: "text" }, "is not a valid target"],
    ["/a/1", { a: ["x"] }, "is not a valid target"],
    ["/__proto__/admin", {}, "is not a valid target"],
  ])("cannot go to %s in %j", (target, payload, reason) => {
    expect(bound(target, whole, payload)).toEqual([expect.stringContaining(reason)]);
  });

  it.each([
    ["text", "must be an object with step or outcome, and path"],
    [{ path: "" }, "/step: is missing"],
    [{ step: "unknown", path: "" }, "/step: no step has the name unknown"],
    [{ step: "second", path: "" }, "/step: second cannot wait for itself"],
    [{ step: 1, path: "" }, "/step: must be the id of a step"],
    [{ step: "first" }, "/path: must be a JSON pointer into the output"],
    [{ step: "first", path: "x" }, "/path: must be a JSON pointer into the output"],
    [{ ...whole, as: "md5" }, "/as: must be one of value, sha256"],
    [{ ...whole, default: 1 }, "/default: no such field"],
  ])("cannot come from %j", (source, reason) => {
    expect(bound("/a", source)).toEqual([expect.stringContaining(`/bindings/~1a`)]);
    expect(bound("/a", source)[0]).toContain(reason);
  });

  it("cannot be inside another", () => {
    const bindings = { "/a/b": whole, "/a": whole, "/ab": whole };
    expect(secondStepReasons({ bindings })).toEqual([
      "/bindings/~1a~1b: lies inside /a, which is bound, too; bind only one of them",
    ]);
  });

  it.each(["", "/token", "/token/deep", "/user", "/user/secret"])("never reads a redacted value, by %j", (path) => {
    const steps = [
      { step_id: "a", name: "login" },
      { step_id: "b", name: "ask", bindings: { "/x": { step: "a", path } } },
    ];
    expect(planReasons({ steps })).toEqual([expect.stringContaining("is redacted")]);
  });

  it("can read a value beside a redacted one", () => {
    const steps = [
      { step_id: "a", name: "login" },
      { step_id: "b", name: "ask", bindings: { "/x": { step: "a", path: "/user/name" } } },
    ];
    expect(planReasons({ steps })).toEqual([]);
  });

  it("is checked in constant time, however many others there are", () => {
    const workFor = (length: number) => {
      const keys = Array.from({ length }, (_, index) => `k${index}`);
      const payload = Object.fromEntries(keys.map((key) => [key, 0]));
      const bindings = Object.fromEntries(keys.map((key) => [`/${key}`, whole]));
      return countOperations(() => secondStep({ payload, bindings }));
    };
    expect(workFor(1000) / workFor(100)).toBeLessThan(11);
  });

  it("never reads from a step that has no output", () => {
    const steps = [
      { step_id: "a", kind: "wait", payload: { ms: 1 } },
      { step_id: "b", name: "ask", bindings: { "/x": { step: "a", path: "" } } },
    ];
    expect(planReasons({ steps })).toEqual(["/steps/1/bindings/~1x/step: a calls no tool and has no output"]);
  });
});

describe("a precondition", () => {
  const condition = { step: "first", path: "/n", operator: "gte", value: 3 };

  it("is kept in its normal form", () => {
    expect(secondStep({ preconditions: [condition] }).preconditions).toEqual([condition]);
    const absent = { step: "first", path: "/n", operator: "not_exists" };
    expect(secondStep({ preconditions: [{ ...absent, value: 5 }] }).preconditions).toEqual([
      { ...absent, value: null },
    ]);
    expect(
      secondStep({ preconditions: [{ ...condition, operator: "eq", value: null }] }).preconditions[0]?.value,
    ).toBeNull();
  });

  it.each([
    ["text", "/preconditions/0: must be an object"],
    [{ ...condition, step: "unknown" }, "/preconditions/0/step: no step has the name unknown"],
    [{ ...condition, path: 1 }, "/preconditions/0/path: must be a JSON pointer"],
    [{ ...condition, operator: "like" }, "/preconditions/0/operator: must be one of eq, neq"],
    [{ ...condition, value: [] }, "/preconditions/0/value: must be a number or a text; gte"],
    [{ ...condition, extra: 1 }, "/preconditions/0/extra: no such field"],
    [{ step: "first", path: "", operator: "eq" }, "/preconditions/0/value: is missing; eq compares with it"],
  ])("cannot be %j", (condition, reason) => {
    expect(secondStepReasons({ preconditions: [condition] })).toEqual([expect.stringContaining(reason)]);
  });
});
