import { describe, expect, it } from "vitest";
import type { Json } from "../../src/core/values/json.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool, throwsFault } from "./scripted-tool.ts";

const auto = { tenants: { acme: { mode: "auto_exec" } } } as const;
const draft = { type: "Draft", status: "draft" } as const;
const at = { principal: botAgent, project: "mail" };
const writing = () => scriptedTool("write", () => ({ id: "d1", body: "Dear Ana" }), { effect: "reads" });
const sending = () => scriptedTool("send", ({ input }) => input as Json);
const writePlan = { steps: [{ step_id: "w", name: "write", payload: {}, outcome: draft }] };
const sendPlan = (outcome: string, binding: object = { path: "/id" }) => ({
  steps: [{ step_id: "s", name: "send", payload: { to: "ana" }, bindings: { "/draft": { outcome, ...binding } } }],
});

async function madeOutcome(engine: Engine, plan: object = writePlan, options: object = at) {
  const run = await engine.submit(plan, options as typeof at);
  const [outcome] = (await run.result()).outcomes;
  return { run, id: outcome?.outcome_id as string };
}

describe.each(storeKinds)("a step that is bound to the outcome of an earlier run, on $name", ({ newFixture }) => {
  it("gets the recorded value, also after a crash, and the plan on record names its source", async () => {
    const stage = newFixture();
    const send = sending();
    const options = { tools: [writing().tool, send.tool], ...auto };
    const { run: made, id } = await madeOutcome(await stage.open(options));
    await stage.crash();
    const engine = await stage.open(options);
    const run = await engine.submit(sendPlan(id), at);
    expect((await run.result()).steps.s).toMatchObject({ output: { to: "ana", draft: "d1" } });
    const [accepted] = await collectEvents(run, "run.accepted");
    const source = { outcome: id, path: "/id", as: "value", from: { run: made.run_id, step: "w" } };
    expect(accepted?.plan?.steps[0]?.bindings).toEqual({ "/draft": source });
    const digest = await engine.submit(sendPlan(id, { path: "", as: "sha256" }), at);
    expect((await digest.result()).steps.s?.output).toMatchObject({ draft: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it("is one request with its repetition, also when the outcome can no longer be read", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [writing().tool, sending().tool], ...auto });
    const { id } = await madeOutcome(engine);
    const first = await engine.submit(sendPlan(id), { ...at, requestKey: "k" });
    await first.result();
    await stage.advance(1000);
    await engine.retain({ principal: anaPerson, reason: "privacy", endedBefore: stage.clock.now() });
    const again = await engine.submit(sendPlan(id), { ...at, requestKey: "k" });
    expect(again).toMatchObject({ run_id: first.run_id, attached: true });
  });

  it("is refused, on record, if its principal may not read the outcome, or there is none", async () => {
    const engine = await newFixture().open({ tools: [writing().tool, sending().tool], ...auto });
    const { id } = await madeOutcome(engine, writePlan, { principal: anaPerson });
    const asked = { tenant: { ...at, principal: { ...botAgent, tenant: "other" } }, unknown: at, foreign: at };
    const codes: Record<string, string> = {};
    for (const [name, options] of Object.entries(asked)) {
      const outcome = name === "unknown" ? "out_none_w" : id;
      const { code, detail } = await rejectedFault(engine.submit(sendPlan(outcome), options));
      const record = await engine.run((detail as { run_id: string }).run_id, { principal: options.principal });
      expect(await record.result()).toMatchObject({ rejected: true, refused: { code } });
      codes[name] = code;
    }
    expect(codes).toEqual({ tenant: "OUTCOME_NOT_FOUND", unknown: "OUTCOME_NOT_FOUND", foreign: "AUTH_FORBIDDEN" });
  });

  it("is refused if the step was undone or the value is absent or redacted", async () => {
    const act = scriptedTool("post", () => ({ id: "p1", secret: "x" }), {
      redact: ["secret"],
      compensate: async () => ({}),
    });
    const engine = await newFixture().open({ tools: [act.tool, sending().tool], ...auto });
    const plan = { steps: [{ step_id: "p", name: "post", payload: {}, outcome: draft }] };
    const { run, id } = await madeOutcome(engine, plan);
    const refusal = async (binding: object) => (await rejectedFault(engine.submit(sendPlan(id, binding), at))).code;
    expect(await refusal({ path: "/none" })).toBe("MISSING_REQUIRED_CONTEXT");
    expect(await refusal({ path: "/secret" })).toBe("INVALID_INPUT");
    expect(await refusal({ path: "" })).toBe("INVALID_INPUT");
    await engine.undo(run.run_id, { principal: anaPerson, reason: "off" });
    await run.result();
    expect(await refusal({ path: "/id" })).toBe("OUTCOME_NOT_FOUND");
  });

  it.each([
    ["strict", "CONFIRMATION_FAILED"],
    ["gate", "waiting_approval"],
    ["warn", "succeeded"],
  ] as const)("is bound to an act that is not confirmed as its tool says: %s, %s", async (confirm, expected) => {
    const act = scriptedTool("post", () => ({ id: "p1" }), { confirm, verify: async () => ({ saw: "absent" }) });
    const engine = await newFixture().open({ tools: [act.tool, sending().tool], ...auto });
    const { id } = await madeOutcome(engine, { steps: [{ step_id: "p", name: "post", payload: {}, outcome: draft }] });
    const ended = await engine.submit(sendPlan(id), at).then(
      async (run) => (await run.result()).steps.s?.state,
      (error) => error.fault.code,
    );
    expect(ended).toBe(expected);
  });

  it("is refused without a record in a simulation and in a dry run", async () => {
    const engine = await newFixture().open({ tools: [sending().tool], ...auto });
    const plan = sendPlan("out_none_w");
    const asked = [() => engine.simulate(plan, at), () => engine.submit(plan, { ...at, mode: "dry_run" })];
    for (const ask of asked)
      expect(await rejectedFault(ask())).toMatchObject({
        code: "OUTCOME_NOT_FOUND",
        message: expect.not.stringContaining("on record"),
      });
    expect(await engine.runs({ principal: anaPerson })).toHaveLength(0);
  });

  it("is no step of a plan that continues a run", async () => {
    const broken = scriptedTool("broken", throwsFault("TOOL_FAILED"), { effect: "reads" });
    const replanner = scriptedTool("mend", () => ({ plan: sendPlan(id) }), { effect: "reads" });
    const engine = await newFixture().open({
      tools: [writing().tool, sending().tool, broken.tool, replanner.tool],
      ...auto,
    });
    const { id } = await madeOutcome(engine);
    const failing = { steps: [{ step_id: "b", name: "broken" }] };
    const refused = await rejectedFault(engine.submit(failing, { ...at, fallbacks: [sendPlan(id)] }));
    expect(refused.message).toContain("/fallbacks/0/steps: s is bound to an outcome");
    const run = await engine.submit(failing, { ...at, replan: { by: "mend" } });
    expect((await run.finished()).steps["replan.1"]).toMatchObject({
      fault: { code: "REPLAN_REFUSED", message: expect.stringContaining("s is bound to an outcome") },
    });
  });

  it("can be a step of a child run and of a simulation", async () => {
    const engine = await newFixture().open({ tools: [writing().tool, sending().tool], ...auto });
    const { id } = await madeOutcome(engine);
    const child = { steps: [{ step_id: "c", kind: "run", payload: { plan: sendPlan(id) } }] };
    expect((await (await engine.submit(child, at)).finished()).status).toBe("completed");
    expect((await engine.simulate(sendPlan(id), at)).acts).toMatchObject([{ input: { draft: "d1" } }]);
    const refused = { steps: [{ step_id: "c", kind: "run", payload: { plan: sendPlan("out_none_w") } }] };
    const { failed } = await (await engine.submit(refused, at)).finished();
    expect(failed).toMatchObject([{ step_id: "c", fault: { code: "OUTCOME_NOT_FOUND" } }]);
  });
});
