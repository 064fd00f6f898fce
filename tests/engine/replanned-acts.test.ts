import { describe, expect, it } from "vitest";
import type { PlanInput } from "../../src/core/plan/plan-input.ts";
import type { ReplanContext } from "../../src/core/run/replan-context.ts";
import { defineReplanner } from "../../src/schema/define-replanner.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  deferred,
  rejectedFault,
  scriptedTool,
  type ToolBehaviour,
  throwsFault,
} from "./scripted-tool.ts";

const broken = () => scriptedTool("broken", throwsFault("POLICY_DENIED"), { effect: "reads" });
const mailer = (more: Parameters<typeof scriptedTool>[2] = {}) => scriptedTool("mail", () => ({ sent: true }), more);
const mail = (step_id: string, to: string) => ({ step_id, name: "mail", payload: { to } });
const failing: PlanInput = { steps: [mail("tell", "ana"), { step_id: "order", name: "broken", depends_on: ["tell"] }] };
const by = { principal: botAgent } as const;

/** A replanner that always proposes this plan. */
function planner(plan: PlanInput) {
  const asked: ReplanContext[] = [];
  const replan = (context: ReplanContext) => {
    asked.push(context);
    return plan;
  };
  return { tool: defineReplanner({ name: "planner", replan }), asked };
}

describe.each(storeKinds)("an act of a plan that was replaced, on $name", ({ newFixture }) => {
  it("is not done again by an equal call of the next plan, whatever its id: its receipt answers", async () => {
    const sent = mailer();
    const { tool, asked } = planner({ steps: [mail("tell", "ana"), mail("tell-her", "ana")] });
    const engine = await newFixture().open({ tools: [sent.tool, broken().tool, tool] });
    const run = await engine.submit(failing, { ...by, replan: { by: "planner" } });
    expect(await run.finished()).toMatchObject({
      status: "completed",
      steps: { "tell@2": { reused: { step: "tell" } }, "tell-her": { reused: { step: "tell" } } },
    });
    expect(sent.calls.length).toBe(1);
    expect(asked[0]?.acts).toEqual([{ step_id: "tell", tool: "mail", state: "committed", input: { to: "ana" } }]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("is not done again by a fallback plan", async () => {
    const sent = mailer();
    const engine = await newFixture().open({ tools: [sent.tool, broken().tool] });
    const run = await engine.submit(failing, { ...by, fallbacks: [{ steps: [mail("notify", "ana")] }] });
    expect(await run.finished()).toMatchObject({
      status: "completed",
      steps: { notify: { reused: { step: "tell" } } },
    });
    expect(sent.calls.length).toBe(1);
  });

  it("holds a call of its tool with another input: a person says whether it is the same act", async () => {
    const sent = mailer();
    const { tool } = planner({ steps: [mail("tell-her", "Ana"), mail("tell-bob", "bob")] });
    const engine = await newFixture().open({ tools: [sent.tool, broken().tool, tool] });
    const run = await engine.submit(failing, { ...by, replan: { by: "planner" } });
    const { gates } = await run.result();
    expect(gates).toMatchObject([
      { step_id: "tell-her", earlier: [{ step_id: "tell", state: "committed", input: { to: "ana" } }] },
      { step_id: "tell-bob", reason: expect.stringContaining("by a plan that was replaced") },
    ]);
    const [same = "", another = ""] = gates.map(({ gate_id }) => gate_id);
    await engine.approve(same, { principal: anaPerson, sameAs: "tell" });
    await engine.approve(another, { principal: anaPerson });
    expect(await run.finished()).toMatchObject({
      status: "completed",
      steps: { "tell-her": { reused: { step: "tell" } } },
    });
    expect(sent.calls.map(({ input }) => input.to)).toEqual(["ana", "bob"]);
  });

  it("does not hold a call that the declared identity of the tool makes another act", async () => {
    const sent = mailer({ identity: ["to"] });
    const { tool } = planner({ steps: [mail("tell-her", "ana"), mail("tell-bob", "bob")] });
    const engine = await newFixture().open({ tools: [sent.tool, broken().tool, tool] });
    const run = await engine.submit(failing, { ...by, replan: { by: "planner" } });
    expect(await run.finished()).toMatchObject({
      status: "completed",
      steps: { "tell-her": { reused: { step: "tell" } } },
    });
    expect(sent.calls.map(({ input }) => input.to)).toEqual(["ana", "bob"]);
  });

  it("is settled before the replanner is asked, and one that was given up is held, not repeated", async () => {
    const stage = newFixture();
    const sent = scriptedTool("mail", throwsFault("NETWORK_TIMEOUT"));
    const { tool, asked } = planner({ steps: [mail("tell-her", "ana"), mail("tell-again", "ana")] });
    const engine = await stage.open({ tools: [sent.tool, tool] });
    const run = await engine.submit({ steps: [mail("tell", "ana")] }, { ...by, replan: { by: "planner" } });
    expect(await run.result()).toMatchObject({ blocked_on: [{ step_id: "tell", reason_code: "IN_DOUBT" }] });
    expect(asked).toEqual([]);
    await engine.resolve(run.run_id, "tell", { principal: anaPerson, as: "give_up" });
    const { gates } = await run.result();
    expect(asked[0]?.acts).toMatchObject([{ step_id: "tell", state: "given_up" }]);
    const held = { reason: expect.stringContaining("EFFECT_CLOSED") };
    expect(gates).toMatchObject([held, held]);
    expect(sent.calls.length).toBe(1);
  });

  it("may be done again once it was found not to have happened", async () => {
    const called = deferred<void>();
    const timesOut: ToolBehaviour = (call) => {
      called.keep();
      return throwsFault("NETWORK_TIMEOUT")(call);
    };
    const sent = scriptedTool("mail", [timesOut, () => ({ sent: true })]);
    const failsAfterTheCall: ToolBehaviour = (call) => called.promise.then(() => throwsFault("POLICY_DENIED")(call));
    const order = scriptedTool("broken", failsAfterTheCall, { effect: "reads" });
    const { tool } = planner({ steps: [mail("tell-her", "ana")] });
    const engine = await newFixture().open({ tools: [sent.tool, order.tool, tool] });
    const steps = [mail("tell", "ana"), { step_id: "order", name: "broken" }];
    const run = await engine.submit({ steps }, { ...by, replan: { by: "planner" } });
    await run.result();
    await engine.resolve(run.run_id, "tell", { principal: anaPerson, as: "absent" });
    expect(await run.finished()).toMatchObject({ status: "completed", steps: { "tell-her": { state: "succeeded" } } });
    expect(sent.calls.length).toBe(2);
  });

  it("cannot hide in a child run: a plan that may be replaced has no step that starts one with acts", async () => {
    const { tool, asked } = planner({ steps: [{ step_id: "all", kind: "run", payload: { plan: failing as never } }] });
    const engine = await newFixture().open({ tools: [mailer().tool, broken().tool, tool] });
    const each = (name: string) => ({
      steps: [{ step_id: "all", kind: "for_each", payload: { items: ["a"], each: { name } } }],
    });
    const submit = (plan: unknown, more: object) => engine.submit(plan, { ...by, ...more });
    const fault = await rejectedFault(submit(each("mail"), { replan: { by: "planner" } }));
    expect(fault).toMatchObject({ code: "PLAN_INVALID", message: expect.stringContaining("child run that may act") });
    expect((await rejectedFault(submit(failing, { fallbacks: [each("mail")] }))).message).toContain(
      "/fallbacks/0/steps",
    );
    const run = await submit(each("broken"), { replan: { by: "planner" } });
    expect(await run.finished()).toMatchObject({
      status: "failed",
      failed: [{ step_id: "all" }, { step_id: "replan.1" }],
    });
    expect(asked.length).toBe(1);
  });

  it("is not made again after a person undid it: an undo is not a failure", async () => {
    const sent = mailer({ compensate: async () => null } as never);
    const { tool, asked } = planner({ steps: [mail("tell-her", "ana")] });
    const engine = await newFixture().open({ tools: [sent.tool, tool] });
    const run = await engine.submit({ steps: [mail("tell", "ana")] }, { ...by, replan: { by: "planner" } });
    await run.finished();
    await engine.undo(run.run_id, { principal: anaPerson, reason: "wrong ana" });
    expect(await run.finished()).toMatchObject({ steps: { tell: { state: "compensated" } } });
    expect([asked.length, sent.calls.length]).toEqual([0, 1]);
  });

  it("stays rejected: a call that a person rejected is not asked for again", async () => {
    const sent = mailer();
    const { tool } = planner({
      steps: ["tell-her", "tell-again"].map((id) => ({ ...mail(id, "ana"), on_rejected: "continue" as const })),
    });
    const tenants = { acme: { mode: "human_gated" } } as const;
    const engine = await newFixture().open({ tools: [sent.tool, tool], tenants });
    const run = await engine.submit({ steps: [mail("tell", "ana")] }, { ...by, replan: { by: "planner" } });
    const [gate] = (await run.result()).gates;
    await engine.reject(gate?.gate_id ?? "", { principal: anaPerson, reason: "not now" });
    const result = await run.finished();
    expect(result.steps["tell-her"]).toMatchObject({ state: "rejected", fault: { code: "GATE_REJECTED" } });
    expect([sent.calls.length, (await collectEvents(run, "gate.opened")).length]).toEqual([0, 1]);
  });
});
