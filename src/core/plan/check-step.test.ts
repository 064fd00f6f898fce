import { describe, expect, it } from "vitest";
import { check, reasonsAfter, reasonsFor, stageTool, stepAfter, toolsNamed } from "../../../tests/plan-stage.ts";

describe("a step", () => {
  it("takes what it does not say from its tool, and safe defaults for the rest", () => {
    expect(stepAfter({ name: "compute" })).toEqual({
      step_id: "second",
      kind: "operator",
      name: "compute",
      payload: {},
      effect: "pure",
      policy_tags: [],
      gate: "none",
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
    });
  });

  it("keeps what it says", () => {
    const said = {
      kind: "operator",
      payload: { a: [1] },
      gate: "human_confirm",
      cache_policy: "never",
      idempotency_template: "a:{a}",
      on_failure: "skip",
      on_rejected: "continue",
      retries: 0,
      timeout_ms: 5,
      outcome: { type: "email.draft", status: "final" },
    };
    expect(stepAfter(said)).toMatchObject(said);
    expect(stepAfter({ outcome: { type: "summary" } }).outcome).toEqual({ type: "summary", status: "draft" });
  });

  it("may say null where nothing is meant", () => {
    const nulls = { idempotency_template: null, retries: null, timeout_ms: null, outcome: null };
    expect(stepAfter(nulls)).toMatchObject(nulls);
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
    [{ kind: "state_write", name: "nobody" }, "/kind: state_write needs an engine that has slices"],
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
    expect(reasonsAfter(step)).toEqual([expect.stringContaining(reason)]);
  });

  it("without an id is refused", () => {
    expect(reasonsFor({ steps: [{ name: "ask" }] })).toEqual([expect.stringContaining("/steps/0/step_id: is missing")]);
  });

  it("is told how many tools there are only if that helps", () => {
    expect(reasonsAfter({ name: "x" }, { tools: toolsNamed([]) })).toEqual([
      "/steps/0/name: there is no tool at all",
      "/name: there is no tool at all",
    ]);
    const many = toolsNamed(Array.from({ length: 101 }, (_, index) => stageTool(`ask${index}`)));
    expect(reasonsAfter({ name: "asked" }, { tools: many })[1]).toBe("/name: no tool has the name asked");
  });

  it("tells everything that is wrong with it at once", () => {
    expect(reasonsAfter({ gate: 1, retries: -1, name: "nobody", depends_on: ["x"], colour: 1 })).toHaveLength(5);
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
  ])("of %s said as %j is %s", (name, effects, effect) => {
    expect(stepAfter({ name, effects }).effect).toBe(effect);
  });

  it.each([
    ["ask", ["pure"], "/effects: the plan says pure, but ask reads; say reads or worse"],
    ["note", ["read_only"], "/effects: the plan says reads, but note writes; say writes or worse"],
    ["send", ["produce_outcome"], "/effects: the plan says writes, but send acts; say acts or worse"],
    ["ask", [], "/effects: is empty"],
    ["ask", ["sends"], '/effects: "sends" (0) is no effect; use pure, read_only'],
    ["ask", ["reads", "toString"], '/effects: "toString" (1) is no effect'],
    ["ask", [1], "/effects: 1 (0) is no effect"],
    ["ask", "reads", "/effects: must be a list"],
  ])("of %s cannot be said as %j", (name, effects, reason) => {
    expect(reasonsAfter({ name, effects })[0]).toContain(reason);
  });

  it("of a tool nobody knows is not judged", () => {
    expect(reasonsAfter({ name: "nobody", effects: ["pure"], cache_policy: "ttl_only" })).toHaveLength(1);
  });
});

describe("what a plan may change about a call", () => {
  it("it adds tags and never loses those of the tool", () => {
    expect(stepAfter({ name: "note", policy_tags: ["draft_only", "notes"] }).policy_tags).toEqual([
      "notes",
      "draft_only",
    ]);
    expect(stepAfter({ name: "send", policy_tags: [] }).policy_tags).toEqual(["outside"]);
  });

  it("it never answers an act from a cache", () => {
    expect(stepAfter({ name: "send" }).cache_policy).toBe("never");
    expect(stepAfter({ name: "compute", effects: ["acts"] }).cache_policy).toBe("never");
    expect(reasonsAfter({ name: "send", cache_policy: "use_if_safe" })).toEqual([
      "/cache_policy: an act is never answered from a cache; say never",
    ]);
  });

  it("it uses a time to live only where the tool has one", () => {
    expect(stepAfter({ name: "compute", cache_policy: "ttl_only" }).cache_policy).toBe("ttl_only");
    expect(reasonsAfter({ cache_policy: "ttl_only" })).toEqual([expect.stringContaining("ask has no cacheTtlMs")]);
  });
});

describe("a template", () => {
  it.each([
    ["", "must be a text of 1 to 1024"],
    ["x".repeat(1025), "must be a text of 1 to 1024"],
    [5, "must be a text of 1 to 1024"],
    ["a{", "has a brace that is no placeholder"],
    ["{a}:{b}:{c}", "nothing gives a, c a value"],
  ])("%j is refused", (idempotency_template, reason) => {
    expect(reasonsAfter({ idempotency_template, payload: { b: 1, c: null } })).toEqual([
      expect.stringContaining(`/idempotency_template: ${reason}`),
    ]);
  });

  it("takes values from the payload, from bindings and from the context", () => {
    const idempotency_template = "{a}:{b}:{c}";
    const bindings = { "/b/inner": { step: "first", path: "" } };
    const step = stepAfter({ idempotency_template, payload: { a: 1 }, bindings }, { context: { c: 2 } });
    expect(step.idempotency_template).toBe(idempotency_template);
  });

  it("is not used where the tool itself identifies its calls, and the plan's author is warned", () => {
    const checked = check({ steps: [{ step_id: "a", name: "pay", payload: { id: 1 }, idempotency_template: "{id}" }] });
    expect(checked).toMatchObject({ ok: true, warnings: [{ path: "/steps/0/idempotency_template" }] });
    expect(check({ steps: [{ step_id: "a", name: "pay", payload: { id: 1 } }] })).toMatchObject({
      ok: true,
      warnings: [],
    });
  });
});

describe("a strict plan", () => {
  const said = { effects: ["reads"], policy_tags: [], cache_policy: "never", idempotency_template: "a" };

  it("says effects, tags, cache and template for every call", () => {
    const steps = [
      { step_id: "a", name: "ask" },
      { step_id: "b", name: "ask", ...said },
    ];
    expect(reasonsFor({ steps }, { strict: true })).toEqual([
      expect.stringContaining("/steps/0/effects: is missing"),
      expect.stringContaining("/steps/0/policy_tags: is missing"),
      expect.stringContaining("/steps/0/cache_policy: is missing"),
      expect.stringContaining("/steps/0/idempotency_template: is missing"),
    ]);
  });

  it("takes null for nothing said", () => {
    const steps = [{ step_id: "a", name: "ask", ...said, idempotency_template: null }];
    expect(reasonsFor({ steps }, { strict: true })).toHaveLength(1);
  });

  it("asks it of no step that calls nothing", () => {
    const steps = [{ step_id: "a", kind: "wait", payload: { ms: 1 } }];
    expect(reasonsFor({ steps }, { strict: true })).toEqual([]);
  });
});

describe("the payload of a step", () => {
  it("must fit the tool, and every misfit is told where it is", () => {
    expect(reasonsAfter({ name: "demand" })).toEqual([
      "/payload/to: does not fit demand: is missing",
      "/payload/n: does not fit demand: is no number",
    ]);
    expect(reasonsAfter({ name: "broken" })).toEqual(["/payload: does not fit broken: is asynchronous"]);
  });

  it("is judged only when it is whole", () => {
    expect(reasonsAfter({ name: "demand", bindings: { "/to": { step: "first", path: "" } } })).toEqual([]);
  });

  it("is told once when it is no object", () => {
    expect(reasonsAfter({ name: "demand", payload: [] })).toEqual(["/payload: must be an object"]);
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
    expect(stepAfter({ kind: "wait", payload })).toMatchObject({
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
    expect(reasonsAfter({ kind: "wait", payload })[0]).toContain(reason);
  });

  it("says nothing that only a tool could do", () => {
    const talk = {
      effects: ["acts"],
      gate: "human_confirm",
      cache_policy: "ttl_only",
      idempotency_template: "a",
      bindings: { "/ms": { step: "first", path: "" } },
      retries: 1,
      timeout_ms: 1,
      outcome: { type: "a" },
    };
    const reasons = reasonsAfter({ kind: "wait", payload: { ms: 1 }, ...talk });
    expect(reasons.filter((reason) => reason.includes("is for operators; wait calls no tool"))).toHaveLength(8);
  });

  it("may be for the signal that an earlier step names, and others build on what it says", () => {
    const bindings = { "/signal": { step: "first", path: "" } };
    expect(stepAfter({ kind: "wait", payload: {}, bindings })).toMatchObject({ depends_on: ["first"] });
    const wait = { step_id: "w", kind: "wait", payload: { signal: "paid" } };
    const bound = { step_id: "a", name: "demand", payload: {}, bindings: { "/to": { step: "w", path: "/signal" } } };
    expect(check({ steps: [wait, bound] })).toMatchObject({ ok: true });
    const timed = { ...wait, payload: { ms: 1 } };
    expect(check({ steps: [timed, bound] })).toMatchObject({ ok: false });
  });

  it("may repeat what goes without saying", () => {
    const said = { effects: ["pure"], gate: "none", cache_policy: "never", policy_tags: ["slow"], bindings: {} };
    expect(stepAfter({ kind: "wait", payload: { ms: 1 }, ...said }).policy_tags).toEqual(["slow"]);
  });
});

describe("an assertion", () => {
  it("is a condition, and waits for the step it is about", () => {
    const payload = { step: "first", path: "/ok", operator: "exists" };
    expect(stepAfter({ kind: "assertion", payload })).toMatchObject({
      kind: "assertion",
      name: "assertion",
      payload: { ...payload, value: null },
      depends_on: ["first"],
    });
  });

  it("is refused without one", () => {
    expect(reasonsAfter({ kind: "assertion" })).toEqual([
      expect.stringContaining("/payload/step: is missing"),
      expect.stringContaining("/payload/path: must be a JSON pointer"),
      expect.stringContaining("/payload/operator: is missing"),
    ]);
  });
});

describe("the places of state that a step names", () => {
  it("are none of a step that calls no tool", () => {
    const steps = [{ step_id: "w", kind: "wait", payload: { ms: 5 }, state_reads: ["/a"], state_writes: ["/b"] }];
    expect(reasonsFor({ steps })).toEqual([
      "/steps/0/state_reads: is for operators; wait calls no tool",
      "/steps/0/state_writes: is for operators; wait calls no tool",
    ]);
  });

  it("are those of its tool for writing, too", () => {
    const tools = toolsNamed([stageTool("keep", { effect: "writes", stateReads: [], stateWrites: ["/beds"] })]);
    const reasons = (state_writes: readonly string[]) =>
      reasonsFor({ steps: [{ step_id: "a", name: "keep", state_writes }] }, { tools });
    expect(reasons(["/beds/north"])).toEqual([]);
    expect(reasons(["/notes"])).toEqual(["/steps/0/state_writes: /notes is not among what keep declares: /beds"]);
  });

  const reading = (stateReads: readonly string[] | null) => toolsNamed([stageTool("look", { stateReads })]);
  const reasons = (state_reads: unknown, declared: readonly string[] | null) =>
    reasonsFor({ steps: [{ step_id: "a", name: "look", state_reads }] }, { tools: reading(declared) });

  it("are among those of its tool", () => {
    expect(reasons(["/beds/north"], null)).toEqual([]);
    expect(reasons(["/beds/north"], ["/notes", "/beds"])).toEqual([]);
    expect(reasons(["/beds"], ["/notes", "/beds/north"])).toEqual([
      "/steps/0/state_reads: /beds is not among what look declares: /notes, /beds/north",
    ]);
    expect(reasons(["/beds"], [])).toEqual(["/steps/0/state_reads: /beds is not among what look declares: nothing"]);
  });

  it.each([[["beds"]], [[""]], [[7]], [Array.from({ length: 101 }, (_, nth) => `/s${nth}`)]])(
    "are places: not %j",
    (named) => {
      expect(reasons(named, null)).toEqual([
        expect.stringContaining("/steps/0/state_reads: must be at most 100 JSON pointers"),
      ]);
    },
  );
});
