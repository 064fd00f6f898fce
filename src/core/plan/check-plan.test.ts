import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countedWork } from "../../../tests/counted-work.ts";
import { accepted, check, reasonsFor, stageTool, toolsNamed } from "../../../tests/plan-stage.ts";
import { canonical } from "../json/canonical.ts";
import type { Json } from "../json/json.ts";
import { dependents } from "./plan-graph.ts";

/** The plan that the execution semantics give as their example. */
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
const exampleTools = toolsNamed([
  stageTool("Professor.Summarize"),
  stageTool("Email.GenerateDraft", { effect: "writes" }),
  stageTool("Gmail.SendEmail", { effect: "acts" }),
]);

describe("a plan that is no JSON", () => {
  const steps = (more: object) => [
    { step_id: "a", name: "ask", payload: { at: new Date(0) }, depends_on: ["nobody"] },
    { step_id: "b", name: "ask", ...more },
  ];

  it("is refused for that and for every rule that the rest of it breaks, at once", () => {
    expect(reasonsFor({ steps: steps({ gate: "moat" }), colour: "red" })).toEqual([
      expect.stringContaining("/steps/0/payload/at: only plain objects are JSON"),
      expect.stringContaining("/colour"),
      expect.stringContaining("/steps/0/depends_on/0"),
      expect.stringContaining("/steps/1/gate"),
    ]);
  });

  it("is not refused for what stands where something was that is no JSON", () => {
    const reasons = reasonsFor({ steps: steps({ name: () => 1 }) });
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
  ])("is refused for that alone, if nobody can tell what refers to %s", (_, steps) => {
    expect(reasonsFor({ steps, colour: "red" })).toHaveLength(1);
  });
});

describe("a plan", () => {
  it("is refused if nothing gives its placeholders a value, and they are all named", () => {
    expect(reasonsFor(example, { tools: exampleTools })).toEqual([
      expect.stringContaining("/steps/0/idempotency_template: nothing gives digest_hash a value"),
      expect.stringContaining(
        "/steps/1/idempotency_template: nothing gives cv_hash, prof_sum_hash, template_hash a value",
      ),
    ]);
  });

  it("is accepted with them in the context, even by strict rules", () => {
    const context = { digest_hash: "d", cv_hash: "c", prof_sum_hash: "p", template_hash: "t" };
    const plan = accepted(example, { tools: exampleTools, context, strict: true });
    expect(plan).toMatchObject({ plan_id: "plan-uuid", schema_version: "1.0", intent_id: "intent-uuid" });
    expect(plan.steps.map(({ effect, gate }) => [effect, gate])).toEqual([
      ["reads", "none"],
      ["writes", "none"],
      ["acts", "human_confirm"],
    ]);
  });

  it("needs no more than steps", () => {
    expect(accepted({ steps: [{ step_id: "a", name: "ask" }] })).toMatchObject({
      plan_id: null,
      schema_version: "1.0",
      intent_id: null,
    });
    expect(accepted({ plan_id: null, intent_id: null, steps: [{ step_id: "a", name: "ask" }] }).plan_id).toBeNull();
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
    expect(reasonsFor(plan)).toEqual([expect.stringContaining(reason)]);
  });

  it("does not run in circles, and each circle is named", () => {
    const steps = [
      { step_id: "free", name: "ask" },
      { step_id: "a", name: "ask", depends_on: ["c", "free"] },
      { step_id: "b", name: "ask", bindings: { "/x": { step: "a", path: "" } } },
      { step_id: "c", name: "ask", preconditions: [{ step: "b", path: "", operator: "exists" }] },
      { step_id: "d", name: "ask", depends_on: ["c"] },
    ];
    expect(reasonsFor({ steps })).toEqual(["/steps/1: a needs c needs b needs a; nobody could begin, remove one need"]);
  });

  it("is not said to run in circles through a step that has no proper name", () => {
    const steps = [
      { step_id: "a.b", name: "ask", depends_on: ["c"] },
      { step_id: "c", name: "ask", depends_on: ["a.b"] },
    ];
    expect(reasonsFor({ steps })).toEqual([expect.stringContaining("/steps/0/step_id: must be")]);
  });

  it("tells what is wrong in every step at once", () => {
    const steps = [
      { step_id: "a", name: "nobody" },
      5,
      { step_id: "a", name: "ask", gate: "no" },
      { step_id: "c", name: "ask", depends_on: ["a", "x"] },
    ];
    expect(reasonsFor({ steps, extra: 1 }).map((reason) => reason.split(":")[0])).toEqual([
      "/extra",
      "/steps/0/name",
      "/steps/1",
      "/steps/2/step_id",
      "/steps/2/gate",
      "/steps/3/depends_on/1",
    ]);
  });

  it("has the same limit on what waits for what because of the state they touch", () => {
    const places = Array.from({ length: 100 }, (_, nth) => `/s${nth}`);
    const writers = places.map((place, nth) => ({ step_id: `w${nth}`, name: "note", state_writes: [place] }));
    const readers = (count: number) =>
      Array.from({ length: count }, (_, nth) => ({ step_id: `r${nth}`, name: "ask", state_reads: places }));
    expect(reasonsFor({ steps: [...writers, ...readers(1001)] })).toEqual([
      "/steps: declared state makes more than 100000 dependencies; declare less of it",
    ]);
  });

  it("has a limit on what waits for what", () => {
    const ids = Array.from({ length: 460 }, (_, index) => `s${index}`);
    const steps = ids.map((step_id, index) => ({ step_id, name: "ask", depends_on: ids.slice(0, index) }));
    expect(reasonsFor({ steps })).toEqual([expect.stringContaining("/steps: more than 100000 dependencies")]);
  });
});

describe("the order that declared state gives", () => {
  const needs = (steps: readonly object[], tools?: readonly ReturnType<typeof stageTool>[]) =>
    Object.fromEntries(
      accepted({ steps }, tools && { tools: toolsNamed(tools) }).steps.map(({ step_id, depends_on }) => [
        step_id,
        depends_on,
      ]),
    );
  const writes = (step_id: string, place: string, more: object = {}) => ({
    ...{ step_id, name: "note", state_writes: [place] },
    ...more,
  });
  const reads = (step_id: string, place: string) => ({ step_id, name: "ask", state_reads: [place] });

  it("lets whoever reads a place wait for who writes it, and the next writer for both", () => {
    const steps = [
      writes("w", "/beds/north"),
      reads("r", "/beds"),
      reads("s", "/notes"),
      writes("x", "/beds/north/free"),
    ];
    expect(needs(steps)).toEqual({ w: [], r: ["w"], s: [], x: ["r", "w"] });
  });

  it("is added to what the plan says, once, and never turns it around", () => {
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

  it("comes from what tools declare, where a step says nothing", () => {
    const tools = [
      stageTool("look", { stateReads: ["/beds"] }),
      stageTool("keep", { effect: "writes", stateWrites: ["/beds", "/notes"] }),
    ];
    const steps = [
      { step_id: "w", name: "keep" },
      { step_id: "r", name: "look" },
      { step_id: "v", name: "keep", state_writes: ["/notes"] },
      { step_id: "s", name: "look", state_reads: [] },
    ];
    expect(needs(steps, tools)).toEqual({ w: [], r: ["w"], v: ["w"], s: [] });
  });

  it("is none where nobody says anything", () => {
    expect(
      needs([
        { step_id: "a", name: "note" },
        { step_id: "b", name: "note" },
      ]),
    ).toEqual({ a: [], b: [] });
  });
});

describe("what is accepted", () => {
  const words = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,5}$/);
  const payloads = fc.dictionary(fc.string(), fc.jsonValue());
  const rawSteps = fc
    .uniqueArray(words, { minLength: 1, maxLength: 6 })
    .chain((ids) => fc.tuple(...ids.map((step_id, index) => rawStep(step_id, ids.slice(0, index), payloads))));

  it("can be stored and read back unchanged", () => {
    let passed = 0;
    fc.assert(
      fc.property(rawSteps, (steps) => {
        const checked = check({ steps });
        if (!checked.ok) return;
        passed += 1;
        const stored = JSON.parse(JSON.stringify(checked.plan)) as Json;
        expect(stored).toEqual(checked.plan);
        expect(canonical(stored)).toBe(canonical(checked.plan as unknown as Json));
      }),
    );
    expect(passed).toBeGreaterThan(30);
  });

  it("shares nothing with what was given, so later changes do not reach it", () => {
    const payload = { to: ["ana"] };
    const plan = accepted({ steps: [{ step_id: "a", name: "ask", payload }] });
    payload.to.push("eve");
    expect(plan.steps[0]?.payload).toEqual({ to: ["ana"] });
  });

  it("is checked with work that grows as the plan does", () => {
    const [small, large] = [wide(100), wide(1000)].map((plan) => countedWork(() => check(plan)));
    expect((large as number) / (small as number)).toBeLessThan(11);
  });

  it("has as many dependents as it has dependencies", () => {
    const plan = accepted(wide(10_000));
    expect(dependents(plan).reduce((count, list) => count + list.length, 0)).toBe(
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

/** So many steps, each waiting for ten before it: 100,000 edges at 10,000 steps. */
function wide(size: number): object {
  const ids = Array.from({ length: size }, (_, index) => `s${index}`);
  const steps = ids.map((step_id, index) => ({
    step_id,
    name: "ask",
    depends_on: ids.slice(Math.max(0, index - 10), index),
  }));
  return { steps };
}
