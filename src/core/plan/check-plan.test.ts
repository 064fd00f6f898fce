import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countOperations } from "../../../tests/core/operation-count.ts";
import { acceptedPlan, checkTestPlan, planReasons, planTool, toolsByName } from "../../../tests/core/plan-fixture.ts";
import { canonicalJson } from "../json/canonical-json.ts";
import type { Json } from "../values/json.ts";
import { dependentSteps } from "./step-graph.ts";

/** The example plan of the execution semantics. */
const example = {
  plan_id: "plan-uuid",
  schema_version: "1.0",
  intent_id: "intent-uuid",
  steps: [
    {
      step_id: "s1",
      kind: "operator",
      name: "Professor.Summarize",
      payload: { professor_id: 910, source: "canspider" },
      effects: ["read_only"],
      policy_tags: ["read_only"],
      gate: "none",
      cache_policy: "use_if_safe",
      idempotency_template: "prof_summary:{professor_id}:{digest_hash}",
    },
    {
      step_id: "s2",
      kind: "operator",
      name: "Email.GenerateDraft",
      payload: { request_id: 556 },
      effects: ["produce_outcome"],
      policy_tags: ["draft_only"],
      gate: "none",
      cache_policy: "use_if_safe",
      idempotency_template: "email_draft:{request_id}:{cv_hash}:{prof_sum_hash}:{template_hash}",
    },
    {
      step_id: "s3",
      kind: "operator",
      name: "Gmail.SendEmail",
      payload: { draft_outcome_id: "out-..." },
      effects: ["external_send"],
      policy_tags: ["external_send"],
      gate: "human_confirm",
      cache_policy: "never",
      idempotency_template: "gmail_send:{draft_outcome_id}",
    },
  ],
};
const exampleTools = toolsByName([
  planTool("Professor.Summarize"),
  planTool("Email.GenerateDraft", { effect: "writes" }),
  planTool("Gmail.SendEmail", { effect: "acts" }),
]);

describe("a plan that is not JSON", () => {
  const steps = (more: object) => [
    { step_id: "a", name: "ask", payload: { at: new Date(0) }, depends_on: ["unknown"] },
    { step_id: "b", name: "ask", ...more },
  ];

  it("is refused for that and for every problem of the rest, at once", () => {
    expect(planReasons({ steps: steps({ gate: "moat" }), colour: "red" })).toEqual([
      expect.stringContaining("/steps/0/payload/at: only plain objects are JSON"),
      expect.stringContaining("/colour"),
      expect.stringContaining("/steps/0/depends_on/0"),
      expect.stringContaining("/steps/1/gate"),
    ]);
  });

  it("is not refused twice for a value that is not JSON", () => {
    const reasons = planReasons({ steps: steps({ name: () => 1 }) });
    expect(reasons.filter((reason) => reason.startsWith("/steps/1/name"))).toEqual([
      expect.stringContaining("function is not JSON"),
    ]);
  });

  it.each<[string, unknown]>([
    ["a step", [() => 1, { step_id: "b", name: "ask", depends_on: ["a"] }]],
    [
      "the name of a step",
      [
        { step_id: Symbol("a"), name: "ask" },
        { step_id: "b", name: "ask", depends_on: ["a"] },
      ],
    ],
    ["the list of its steps", new Set()],
  ])("is refused for that alone, if %s is not JSON and references cannot be checked", (_, steps) => {
    expect(planReasons({ steps, colour: "red" })).toHaveLength(1);
  });
});

describe("a plan", () => {
  it("is refused if placeholders have no value, and all of them are named", () => {
    expect(planReasons(example, { tools: exampleTools })).toEqual([
      expect.stringContaining("/steps/0/idempotency_template: nothing gives digest_hash a value"),
      expect.stringContaining(
        "/steps/1/idempotency_template: nothing gives cv_hash, prof_sum_hash, template_hash a value",
      ),
    ]);
  });

  it("is accepted with the values in the context, even by strict rules", () => {
    const context = { digest_hash: "d", cv_hash: "c", prof_sum_hash: "p", template_hash: "t" };
    const plan = acceptedPlan(example, { tools: exampleTools, context, strict: true });
    expect(plan).toMatchObject({ plan_id: "plan-uuid", schema_version: "1.0", intent_id: "intent-uuid" });
    expect(plan.steps.map(({ effect, gate }) => [effect, gate])).toEqual([
      ["reads", "none"],
      ["writes", "none"],
      ["acts", "human_confirm"],
    ]);
  });

  it("needs nothing but steps", () => {
    expect(acceptedPlan({ steps: [{ step_id: "a", name: "ask" }] })).toMatchObject({
      plan_id: null,
      schema_version: "1.0",
      intent_id: null,
    });
    expect(acceptedPlan({ plan_id: null, intent_id: null, steps: [{ step_id: "a", name: "ask" }] }).plan_id).toBeNull();
  });

  it.each([
    [null, ": a plan is an object with steps"],
    [[], ": a plan is an object with steps"],
    ["plan", ": a plan is an object with steps"],
    [{}, "/steps: a plan has at least one step"],
    [{ steps: [] }, "/steps: a plan has at least one step"],
    [{ steps: {} }, "/steps: must be a list"],
    [{ steps: ["ask"] }, "/steps/0: a step is an object"],
    [{ steps: Array.from({ length: 10_001 }, () => ({})) }, "/steps: more than 10000 steps; split the plan"],
    [{ steps: [{ step_id: "a", name: "ask" }], schema_version: "2.0" }, "/schema_version: must be one of 1.0"],
    [{ steps: [{ step_id: "a", name: "ask" }], plan_id: "" }, "/plan_id: must be 1 to 64"],
    [{ steps: [{ step_id: "a", name: "ask" }], intent_id: 5 }, "/intent_id: must be 1 to 64"],
    [{ steps: [{ step_id: "a", name: "ask" }], tenant: "other" }, "/tenant: no such field; there are plan_id"],
    [{ step: [], steps: [{ step_id: "a", name: "ask" }] }, "/step: no such field; did you mean steps?"],
    [
      { steps: [{ step_id: "a", name: "ask", payload: { n: Number.NaN } }] },
      "/steps/0/payload/n: NaN is not a JSON number",
    ],
    [{ steps: [{ step_id: "a", name: "ask", payload: { f: () => 1 } }] }, "/steps/0/payload/f: function is not JSON"],
    [JSON.parse('{"steps":[{"step_id":"a","name":"ask","payload":{"__proto__":{"admin":true}}}]}'), "__proto__"],
    [
      { steps: [{ step_id: "a", name: "ask", payload: { text: "x".repeat(4 * 1024 * 1024) } }] },
      "more than 4194304 bytes",
    ],
  ])("like number %# is refused", (plan, reason) => {
    expect(planReasons(plan)).toEqual([expect.stringContaining(reason)]);
  });

  it("is refused for a cycle, which is named", () => {
    const steps = [
      { step_id: "free", name: "ask" },
      { step_id: "a", name: "ask", depends_on: ["c", "free"] },
      { step_id: "b", name: "ask", bindings: { "/x": { step: "a", path: "" } } },
      { step_id: "c", name: "ask", preconditions: [{ step: "b", path: "", operator: "exists" }] },
      { step_id: "d", name: "ask", depends_on: ["c"] },
    ];
    expect(planReasons({ steps })).toEqual([
      "/steps/1: a needs c needs b needs a; the steps form a cycle, remove one dependency",
    ]);
  });

  it("reports no cycle through a step whose id is invalid", () => {
    const steps = [
      { step_id: "a.b", name: "ask", depends_on: ["c"] },
      { step_id: "c", name: "ask", depends_on: ["a.b"] },
    ];
    expect(planReasons({ steps })).toEqual([expect.stringContaining("/steps/0/step_id: must be")]);
  });

  it("reports the problems of every step at once", () => {
    const steps = [
      { step_id: "a", name: "unknown" },
      5,
      { step_id: "a", name: "ask", gate: "no" },
      { step_id: "c", name: "ask", depends_on: ["a", "x"] },
    ];
    expect(planReasons({ steps, extra: 1 }).map((reason) => reason.split(":")[0])).toEqual([
      "/extra",
      "/steps/0/name",
      "/steps/1",
      "/steps/2/step_id",
      "/steps/2/gate",
      "/steps/3/depends_on/1",
    ]);
  });

  it("limits the number of dependencies that declared state adds", () => {
    const places = Array.from({ length: 100 }, (_, nth) => `/s${nth}`);
    const writers = places.map((place, nth) => ({ step_id: `w${nth}`, name: "note", state_writes: [place] }));
    const readers = (count: number) =>
      Array.from({ length: count }, (_, nth) => ({ step_id: `r${nth}`, name: "ask", state_reads: places }));
    expect(planReasons({ steps: [...writers, ...readers(1001)] })).toEqual([
      "/steps: declared state makes more than 100000 dependencies; declare less of it",
    ]);
  });

  it("limits the number of dependencies", () => {
    const ids = Array.from({ length: 460 }, (_, index) => `s${index}`);
    const steps = ids.map((step_id, index) => ({ step_id, name: "ask", depends_on: ids.slice(0, index) }));
    expect(planReasons({ steps })).toEqual([expect.stringContaining("/steps: more than 100000 dependencies")]);
  });
});

describe("declared state", () => {
  const needs = (steps: readonly object[], tools?: readonly ReturnType<typeof planTool>[]) =>
    Object.fromEntries(
      acceptedPlan({ steps }, tools && { tools: toolsByName(tools) }).steps.map(({ step_id, depends_on }) => [
        step_id,
        depends_on,
      ]),
    );
  const writes = (step_id: string, place: string, more: object = {}) => ({
    ...{ step_id, name: "note", state_writes: [place] },
    ...more,
  });
  const reads = (step_id: string, place: string) => ({ step_id, name: "ask", state_reads: [place] });

  it("makes a reader wait for the writer, and the next writer for both", () => {
    const steps = [
      writes("w", "/beds/north"),
      reads("r", "/beds"),
      reads("s", "/notes"),
      writes("x", "/beds/north/free"),
    ];
    expect(needs(steps)).toEqual({ w: [], r: ["w"], s: [], x: ["r", "w"] });
  });

  it("adds dependencies once and never against the explicit ones", () => {
    const steps = [
      writes("a", "/x", { depends_on: ["b"] }),
      writes("b", "/x"),
      writes("c", "/x", { depends_on: ["a"] }),
    ];
    expect(needs(steps)).toEqual({ a: ["b"], b: [], c: ["a"] });
    const far = [
      writes("a", "/x", { depends_on: ["c"] }),
      writes("b", "/x"),
      { step_id: "c", name: "ask", depends_on: ["b"] },
    ];
    expect(needs(far)).toEqual({ a: ["c", "b"], b: [], c: ["b"] });
  });

  it("is the literal path of a step of kind state_read or state_write", () => {
    const tools = [planTool("state.read"), planTool("state.write", { effect: "writes" }), planTool("ask")];
    const state = (step_id: string, kind: string, path: string, more: object = {}) => ({
      ...{ step_id, kind, payload: { path, ...(kind === "state_write" && { value: 1 }) } },
      ...more,
    });
    const steps = [
      state("w", "state_write", "/kv/y"),
      state("r", "state_read", "/kv/y"),
      state("o", "state_read", "/kv/x"),
      state("l", "state_write", "/list/-"),
      state("s", "state_read", "/list/0"),
      { step_id: "ask", name: "ask" },
      state("b", "state_read", "/kv/y", { bindings: { "/path": { step: "ask", path: "/path" } } }),
    ];
    expect(needs(steps, tools)).toEqual({ w: [], r: ["w"], o: [], l: [], s: ["l"], ask: [], b: ["ask"] });
  });

  it("is taken from the tool if a step declares none", () => {
    const tools = [
      planTool("look", { stateReads: ["/beds"] }),
      planTool("keep", { effect: "writes", stateWrites: ["/beds", "/notes"] }),
    ];
    const steps = [
      { step_id: "w", name: "keep" },
      { step_id: "r", name: "look" },
      { step_id: "v", name: "keep", state_writes: ["/notes"] },
      { step_id: "s", name: "look", state_reads: [] },
    ];
    expect(needs(steps, tools)).toEqual({ w: [], r: ["w"], v: ["w"], s: [] });
  });

  it("adds no dependency if neither step nor tool declares any", () => {
    expect(
      needs([
        { step_id: "a", name: "note" },
        { step_id: "b", name: "note" },
      ]),
    ).toEqual({ a: [], b: [] });
  });
});

describe("an accepted plan", () => {
  const words = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,5}$/);
  const payloads = fc.dictionary(fc.string(), fc.jsonValue());
  const rawSteps = fc
    .uniqueArray(words, { minLength: 1, maxLength: 6 })
    .chain((ids) => fc.tuple(...ids.map((step_id, index) => rawStep(step_id, ids.slice(0, index), payloads))));

  it("can be stored and read back unchanged", () => {
    let passed = 0;
    fc.assert(
      fc.property(rawSteps, (steps) => {
        const checked = checkTestPlan({ steps });
        if (!checked.ok) return;
        passed += 1;
        const stored = JSON.parse(JSON.stringify(checked.plan)) as Json;
        expect(stored).toEqual(checked.plan);
        expect(canonicalJson(stored)).toBe(canonicalJson(checked.plan as unknown as Json));
      }),
    );
    expect(passed).toBeGreaterThan(30);
  });

  it("is a copy that later changes of the input do not affect", () => {
    const payload = { to: ["ana"] };
    const plan = acceptedPlan({ steps: [{ step_id: "a", name: "ask", payload }] });
    payload.to.push("eve");
    expect(plan.steps[0]?.payload).toEqual({ to: ["ana"] });
  });

  it("is checked in time linear in its size", () => {
    const [small, large] = [wide(100), wide(1000)].map((plan) => countOperations(() => checkTestPlan(plan)));
    expect((large as number) / (small as number)).toBeLessThan(11);
  });

  it("has as many dependents as it has dependencies", () => {
    const plan = acceptedPlan(wide(10_000));
    expect(dependentSteps(plan).reduce((count, list) => count + list.length, 0)).toBe(
      plan.steps.reduce((count, step) => count + step.depends_on.length, 0),
    );
  });
});

function rawStep(step_id: string, earlier: readonly string[], payloads: fc.Arbitrary<Record<string, unknown>>) {
  const name = fc.constantFrom("ask", "compute", "note", "send", "pay");
  const gate = fc.constantFrom("none", "human_confirm");
  const depends_on = fc.subarray([...earlier]);
  const retries = fc.option(fc.nat(25));
  return fc.record(
    { step_id: fc.constant(step_id), name, payload: payloads, gate, depends_on, retries },
    { requiredKeys: ["step_id", "name"] },
  );
}

/** A plan of `size` steps, each depending on ten before it: 100,000 edges at 10,000 steps. */
function wide(size: number): object {
  const ids = Array.from({ length: size }, (_, index) => `s${index}`);
  const steps = ids.map((step_id, index) => ({
    step_id,
    name: "ask",
    depends_on: ids.slice(Math.max(0, index - 10), index),
  }));
  return { steps };
}
