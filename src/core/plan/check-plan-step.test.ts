import { describe, expect, it } from "vitest";
import {
  checkTestPlan,
  planReasons,
  planTool,
  secondStep,
  secondStepReasons,
  toolsByName,
} from "../../../tests/core/plan-fixture.ts";

describe("a step", () => {
  it("takes absent fields from its tool, and safe defaults for the rest", () => {
    expect(secondStep({ name: "compute" })).toEqual({
      step_id: "second",
      kind: "operator",
      name: "compute",
      payload: {},
      effect: "pure",
      policy_tags: [],
      gate: "none",
      asks_for: {},
      cache_policy: "use_if_safe",
      idempotency_template: null,
      depends_on: [],
      bindings: {},
      on_failure: "abort",
      on_rejected: "stop",
      retries: null,
      timeout_ms: null,
      preconditions: [],
      outcome: null,
      state_reads: null,
      state_writes: null,
      expected_effects: [],
      invalid: null,
    });
  });

  it("keeps given values", () => {
    const given = {
      kind: "operator",
      payload: { a: [1] },
      gate: "human_confirm",
      cache_policy: "never",
      asks_for: { "/a": "the list" },
      idempotency_template: "a:{a}",
      on_failure: "skip",
      on_rejected: "continue",
      retries: 0,
      timeout_ms: 5,
      outcome: { type: "email.draft", status: "final" },
    };
    expect(secondStep(given)).toMatchObject(given);
    expect(secondStep({ outcome: { type: "summary" } }).outcome).toEqual({ type: "summary", status: "draft" });
  });

  it("may use null for an absent value", () => {
    const nulls = { idempotency_template: null, retries: null, timeout_ms: null, outcome: null };
    expect(secondStep(nulls)).toMatchObject(nulls);
  });

  it.each([
    [{ step_id: "a.b" }, "/step_id: must be 1 to 64"],
    [{ step_id: "../x" }, "/step_id: must be 1 to 64"],
    [{ step_id: "a\u0000b" }, "/step_id: must be 1 to 64"],
    [{ step_id: "ѕend" }, "/step_id: must be 1 to 64"],
    [{ step_id: "x".repeat(65) }, "/step_id: must be 1 to 64"],
    [{ step_id: 5 }, "/step_id: must be 1 to 64"],
    [{ step_id: "first" }, "/step_id: first is already the id of step 0"],
    [{ kind: "Operator" }, "/kind: must be one of operator, assertion, wait"],
    [{ kind: "state_read" }, "/kind: state_read needs an engine that has slices"],
    [{ kind: "state_write", name: "unknown" }, "/kind: state_write needs an engine that has slices"],
    [{ name: 5 }, "/name: is missing; an operator needs"],
    [{ name: "asc" }, "/name: no tool has the name asc; did you mean ask?"],
    [{ name: "zebra" }, "/name: no tool has the name zebra; there are ask, compute, note"],
    [{ payload: [] }, "/payload: must be an object"],
    [{ payload: null }, "/payload: must be an object"],
    [{ gate: "maybe" }, "/gate: must be one of none, human_confirm"],
    [{ on_failure: "ignore" }, "/on_failure: must be one of abort, skip, retry"],
    [{ on_rejected: "go" }, "/on_rejected: must be one of stop, continue"],
    [{ retries: 21 }, "/retries: must be a whole number from 0 to 20"],
    [{ retries: 0.5 }, "/retries: must be a whole number"],
    [{ timeout_ms: "5" }, "/timeout_ms: must be a whole number from 1 to 86400000"],
    [{ outcome: "draft" }, "/outcome: must be an object with type and status"],
    [{ outcome: { status: "final" } }, "/outcome/type: is missing"],
    [{ outcome: { type: "a b" } }, "/outcome/type: must be a word"],
    [{ outcome: { type: "a", status: "done" } }, "/outcome/status: must be one of draft, final"],
    [{ outcome: { type: "a", state: "draft" } }, "/outcome/state: no such field; did you mean status?"],
    [{ policy_tags: "a" }, "/policy_tags: must be a list"],
    [{ policy_tags: ["a b"] }, "/policy_tags: must be at most 32 words"],
    [{ policy_tags: [1] }, "/policy_tags: must be at most 32 words"],
    [{ policy_tags: Array.from({ length: 33 }, (_, index) => `t${index}`) }, "/policy_tags: must be at most 32"],
    [{ approved: true }, "/approved: no such field; there are step_id, kind"],
    [{ fence: 9 }, "/fence: no such field"],
    [{ paylod: {} }, "/paylod: no such field; did you mean payload?"],
  ])("%j is refused", (step, reason) => {
    expect(secondStepReasons(step)).toEqual([expect.stringContaining(reason)]);
  });

  it("without an id is refused", () => {
    expect(planReasons({ steps: [{ name: "ask" }] })).toEqual([
      expect.stringContaining("/steps/0/step_id: is missing"),
    ]);
  });

  it("with an unknown tool is refused with the names of the known tools only if there are few", () => {
    expect(secondStepReasons({ name: "x" }, { tools: toolsByName([]) })).toEqual([
      "/steps/0/name: there is no tool at all",
      "/name: there is no tool at all",
    ]);
    const many = toolsByName(Array.from({ length: 101 }, (_, index) => planTool(`ask${index}`)));
    expect(secondStepReasons({ name: "asked" }, { tools: many })[1]).toBe("/name: no tool has the name asked");
  });

  it("reports all of its problems at once", () => {
    expect(secondStepReasons({ gate: 1, retries: -1, name: "unknown", depends_on: ["x"], colour: 1 })).toHaveLength(5);
  });
});

describe("the effect of a step", () => {
  it.each([
    ["ask", ["read_only"], "reads"],
    ["ask", ["pure", "reads"], "reads"],
    ["ask", ["produce_outcome"], "writes"],
    ["ask", ["external_send", "read_only"], "acts"],
    ["note", ["writes"], "writes"],
    ["send", ["acts"], "acts"],
  ])("of %s declared as %j is %s", (name, effects, effect) => {
    expect(secondStep({ name, effects }).effect).toBe(effect);
  });

  it.each([
    ["ask", ["pure"], "/effects: the plan declares pure, but ask reads; declare reads or worse"],
    ["note", ["read_only"], "/effects: the plan declares reads, but note writes; declare writes or worse"],
    ["send", ["produce_outcome"], "/effects: the plan declares writes, but send acts; declare acts or worse"],
    ["ask", [], "/effects: is empty"],
    ["ask", ["sends"], '/effects: "sends" (0) is not an effect; use pure, read_only'],
    ["ask", ["reads", "toString"], '/effects: "toString" (1) is not an effect'],
    ["ask", [1], "/effects: 1 (0) is not an effect"],
    ["ask", "reads", "/effects: must be a list"],
  ])("of %s cannot be declared as %j", (name, effects, reason) => {
    expect(secondStepReasons({ name, effects })[0]).toContain(reason);
  });

  it("of an unknown tool is not checked", () => {
    expect(secondStepReasons({ name: "unknown", effects: ["pure"], cache_policy: "ttl_only" })).toHaveLength(1);
  });
});

describe("a plan", () => {
  it("can add tags and cannot remove those of the tool", () => {
    expect(secondStep({ name: "note", policy_tags: ["draft_only", "notes"] }).policy_tags).toEqual([
      "notes",
      "draft_only",
    ]);
    expect(secondStep({ name: "send", policy_tags: [] }).policy_tags).toEqual(["outside"]);
  });

  it("cannot enable a cache for an act", () => {
    expect(secondStep({ name: "send" }).cache_policy).toBe("never");
    expect(secondStep({ name: "compute", effects: ["acts"] }).cache_policy).toBe("never");
    expect(secondStepReasons({ name: "send", cache_policy: "use_if_safe" })).toEqual([
      "/cache_policy: an act is never answered from a cache; use never",
    ]);
  });

  it("can use ttl_only only if the tool has a time to live", () => {
    expect(secondStep({ name: "compute", cache_policy: "ttl_only" }).cache_policy).toBe("ttl_only");
    expect(secondStepReasons({ cache_policy: "ttl_only" })).toEqual([expect.stringContaining("ask has no cacheTtlMs")]);
  });
});

describe("a template", () => {
  it.each([
    ["", "must be a text of 1 to 1024"],
    ["x".repeat(1025), "must be a text of 1 to 1024"],
    [5, "must be a text of 1 to 1024"],
    ["a{", "has a brace that is not part of a placeholder"],
    ["{a}:{b}:{c}", "nothing gives a, c a value"],
  ])("%j is refused", (idempotency_template, reason) => {
    expect(secondStepReasons({ idempotency_template, payload: { b: 1, c: null } })).toEqual([
      expect.stringContaining(`/idempotency_template: ${reason}`),
    ]);
  });

  it("takes values from the payload, from bindings and from the context", () => {
    const idempotency_template = "{a}:{b}:{c}";
    const bindings = { "/b/inner": { step: "first", path: "" } };
    const step = secondStep({ idempotency_template, payload: { a: 1 }, bindings }, { context: { c: 2 } });
    expect(step.idempotency_template).toBe(idempotency_template);
  });

  it("is not used if the tool declares an identity, and a warning says so", () => {
    const checked = checkTestPlan({
      steps: [{ step_id: "a", name: "pay", payload: { id: 1 }, idempotency_template: "{id}" }],
    });
    expect(checked).toMatchObject({ ok: true, warnings: [{ path: "/steps/0/idempotency_template" }] });
    expect(checkTestPlan({ steps: [{ step_id: "a", name: "pay", payload: { id: 1 } }] })).toMatchObject({
      ok: true,
      warnings: [],
    });
  });
});

describe("a strict plan", () => {
  const declared = { effects: ["reads"], policy_tags: [], cache_policy: "never", idempotency_template: "a" };

  it("declares effects, tags, cache policy and template for every call", () => {
    const steps = [
      { step_id: "a", name: "ask" },
      { step_id: "b", name: "ask", ...declared },
    ];
    expect(planReasons({ steps }, { strict: true })).toEqual([
      expect.stringContaining("/steps/0/effects: is missing"),
      expect.stringContaining("/steps/0/policy_tags: is missing"),
      expect.stringContaining("/steps/0/cache_policy: is missing"),
      expect.stringContaining("/steps/0/idempotency_template: is missing"),
    ]);
  });

  it("treats null as missing", () => {
    const steps = [{ step_id: "a", name: "ask", ...declared, idempotency_template: null }];
    expect(planReasons({ steps }, { strict: true })).toHaveLength(1);
  });

  it("does not require them of a step that calls no tool", () => {
    const steps = [{ step_id: "a", kind: "wait", payload: { ms: 1 } }];
    expect(planReasons({ steps }, { strict: true })).toEqual([]);
  });
});

describe("the payload of a step", () => {
  it("must fit the schema of the tool, and every problem is reported with its path", () => {
    expect(secondStepReasons({ name: "demand" })).toEqual([
      "/payload/to: does not fit demand: is missing",
      "/payload/n: does not fit demand: is no number",
    ]);
    expect(secondStepReasons({ name: "broken" })).toEqual(["/payload: does not fit broken: is asynchronous"]);
  });

  it("is not checked while it has unresolved bindings", () => {
    expect(secondStepReasons({ name: "demand", bindings: { "/to": { step: "first", path: "" } } })).toEqual([]);
  });

  it("is reported once if it is not an object", () => {
    expect(secondStepReasons({ name: "demand", payload: [] })).toEqual(["/payload: must be an object"]);
  });
});

describe("a wait", () => {
  it.each([
    { ms: 1 },
    { until: 1_800_000_000_000 },
    { ms: 366 * 24 * 60 * 60 * 1000 },
    { signal: "paid" },
    { signal: "paid", ms: 1 },
  ])("may be %j", (payload) => {
    expect(secondStep({ kind: "wait", payload })).toMatchObject({
      kind: "wait",
      name: "wait",
      payload,
      effect: "pure",
    });
  });

  it.each([
    [{}, "/payload/ms: a wait has a signal, or either ms, or until"],
    [{ ms: 1, until: 1 }, "/payload/ms: a wait has a signal, or either ms, or until"],
    [{ signal: "paid", ms: 1, until: 1 }, "/payload/ms: a wait has a signal, or either ms, or until"],
    [{ signal: 7 }, "/payload/signal: must be a name"],
    [{ ms: 0 }, "/payload/ms: must be a whole number from 1"],
    [{ ms: 366 * 24 * 60 * 60 * 1000 + 1 }, "/payload/ms: must be a whole number from 1"],
    [{ until: 1e15 }, "/payload/until: must be a whole number"],
    [{ until: "tomorrow" }, "/payload/until: must be a whole number"],
    [{ ms: 1, seconds: 1 }, "/payload/seconds: no such field"],
  ])("cannot be %j", (payload, reason) => {
    expect(secondStepReasons({ kind: "wait", payload })[0]).toContain(reason);
  });

  it("refuses the fields that apply only to tools", () => {
    const toolFields = {
      effects: ["acts"],
      gate: "human_confirm",
      cache_policy: "ttl_only",
      idempotency_template: "a",
      bindings: { "/ms": { step: "first", path: "" } },
      retries: 1,
      timeout_ms: 1,
      outcome: { type: "a" },
    };
    const reasons = secondStepReasons({ kind: "wait", payload: { ms: 1 }, ...toolFields });
    expect(reasons.filter((reason) => reason.includes("is for operators; wait calls no tool"))).toHaveLength(8);
  });

  it("can take its signal from an earlier step, and later steps can bind its output", () => {
    const bindings = { "/signal": { step: "first", path: "" } };
    expect(secondStep({ kind: "wait", payload: {}, bindings })).toMatchObject({ depends_on: ["first"] });
    const wait = { step_id: "w", kind: "wait", payload: { signal: "paid" } };
    const bound = { step_id: "a", name: "demand", payload: {}, bindings: { "/to": { step: "w", path: "/signal" } } };
    expect(checkTestPlan({ steps: [wait, bound] })).toMatchObject({ ok: true });
    const timed = { ...wait, payload: { ms: 1 } };
    expect(checkTestPlan({ steps: [timed, bound] })).toMatchObject({ ok: false });
  });

  it("accepts fields that repeat the defaults", () => {
    const defaults = { effects: ["pure"], gate: "none", cache_policy: "never", policy_tags: ["slow"], bindings: {} };
    expect(secondStep({ kind: "wait", payload: { ms: 1 }, ...defaults }).policy_tags).toEqual(["slow"]);
  });
});

describe("an assertion", () => {
  it("is a condition, and waits for the step it is about", () => {
    const payload = { step: "first", path: "/ok", operator: "exists" };
    expect(secondStep({ kind: "assertion", payload })).toMatchObject({
      kind: "assertion",
      name: "assertion",
      payload: { ...payload, value: null },
      depends_on: ["first"],
    });
  });

  it("is refused without one", () => {
    expect(secondStepReasons({ kind: "assertion" })).toEqual([
      expect.stringContaining("/payload/step: is missing"),
      expect.stringContaining("/payload/path: must be a JSON pointer"),
      expect.stringContaining("/payload/operator: is missing"),
    ]);
  });
});

describe("the declared state of a step", () => {
  it("is refused for a step that calls no tool", () => {
    const steps = [{ step_id: "w", kind: "wait", payload: { ms: 5 }, state_reads: ["/a"], state_writes: ["/b"] }];
    expect(planReasons({ steps })).toEqual([
      "/steps/0/state_reads: is for operators; wait calls no tool",
      "/steps/0/state_writes: is for operators; wait calls no tool",
    ]);
  });

  it("must be within the declared writes of its tool", () => {
    const tools = toolsByName([planTool("keep", { effect: "writes", stateReads: [], stateWrites: ["/beds"] })]);
    const reasons = (state_writes: readonly string[]) =>
      planReasons({ steps: [{ step_id: "a", name: "keep", state_writes }] }, { tools });
    expect(reasons(["/beds/north"])).toEqual([]);
    expect(reasons(["/notes"])).toEqual(["/steps/0/state_writes: /notes is not among what keep declares: /beds"]);
  });

  const reading = (stateReads: readonly string[] | null) => toolsByName([planTool("look", { stateReads })]);
  const reasons = (state_reads: unknown, declared: readonly string[] | null) =>
    planReasons({ steps: [{ step_id: "a", name: "look", state_reads }] }, { tools: reading(declared) });

  it("must be within the declared reads of its tool", () => {
    expect(reasons(["/beds/north"], null)).toEqual([]);
    expect(reasons(["/beds/north"], ["/notes", "/beds"])).toEqual([]);
    expect(reasons(["/beds"], ["/notes", "/beds/north"])).toEqual([
      "/steps/0/state_reads: /beds is not among what look declares: /notes, /beds/north",
    ]);
    expect(reasons(["/beds"], [])).toEqual(["/steps/0/state_reads: /beds is not among what look declares: nothing"]);
  });

  it.each([[["beds"]], [[""]], [[7]], [Array.from({ length: 101 }, (_, nth) => `/s${nth}`)]])(
    "must be a list of JSON pointers: not %j",
    (named) => {
      expect(reasons(named, null)).toEqual([
        expect.stringContaining("/steps/0/state_reads: must be at most 100 JSON pointers"),
      ]);
    },
  );
});
