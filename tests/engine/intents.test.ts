import { describe, expect, it } from "vitest";
import type { SubmitOptions } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const auto = { tenants: { acme: { mode: "auto_exec" } } } as const;
const intent = { type: "Mail.Send", payload: { to: "ana", topic: "terms" }, contexts: { terms: "v1" } };
const at = { principal: botAgent, project: "p" } as const;
const sending = () => scriptedTool("send", () => ({ id: "m1" }));
const plan = (subject: string) => ({ steps: [{ step_id: "s", name: "send", payload: { subject } }] });
const denial = {
  schema_version: "1.0",
  name: "later",
  scope: { tenant: "acme" },
  rules: [{ id: "r", kind: "deny", on: { tools: ["other.*"] } }],
};

describe.each(storeKinds)("an intent, on $name", ({ newFixture }) => {
  it("is recorded with the run that answers it, with the digest of its contexts", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [sending().tool], ...auto });
    const run = await engine.submit(plan("hello"), { ...at, intent });
    const { contexts: _, ...named } = intent;
    const recorded = { ...named, contexts_hash: expect.stringMatching(/^[0-9a-f]{64}$/) };
    expect((await run.result()).intent).toEqual(recorded);
    await stage.crash();
    const again = await (await stage.open({ tools: [sending().tool] })).run(run.run_id, { principal: botAgent });
    expect((await again.result()).intent).toEqual(recorded);
  });

  it("is answered once, also by another plan, until it, its contexts, its place or the policies differ", async () => {
    const send = sending();
    const engine = await newFixture().open({ tools: [send.tool], ...auto });
    const submit = async (subject: string, options: Partial<SubmitOptions> = {}) => {
      const run = await engine.submit(plan(subject), { ...at, intent, ...options });
      await run.result();
      return run.attached;
    };
    expect(await submit("one")).toBe(false);
    expect(await submit("two")).toBe(true);
    expect(await submit("one", { intent: { ...intent, payload: { topic: "terms", to: "ana" } } })).toBe(true);
    expect(await submit("one", { intent: { ...intent, contexts: { terms: "v2" } } })).toBe(false);
    expect(await submit("one", { project: "q" })).toBe(false);
    await engine.policies.set(denial, { principal: anaPerson });
    expect(await submit("three")).toBe(false);
    expect(send.calls).toHaveLength(4);
  });

  it("of another form is refused, and nothing is recorded", async () => {
    const engine = await newFixture().open({ tools: [sending().tool] });
    for (const bad of [{ type: "" }, { type: "a", more: 1 }, { type: "a", payload: [] }, "a"]) {
      const refused = await rejectedFault(engine.submit(plan("x"), { ...at, intent: bad as never }));
      expect(refused).toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining("intent must be") });
    }
    expect(await engine.runs({ principal: anaPerson })).toHaveLength(0);
  });
});

describe.each(storeKinds)("the request key content, on $name", ({ newFixture }) => {
  it("is another one under other policies", async () => {
    const engine = await newFixture().open({ tools: [sending().tool], ...auto });
    const submit = async () => (await engine.submit(plan("one"), { ...at, requestKey: "content" })).attached;
    expect([await submit(), await submit()]).toEqual([false, true]);
    await engine.policies.set(denial, { principal: anaPerson });
    expect([await submit(), await submit()]).toEqual([false, true]);
  });
});

describe.each(storeKinds)("the ids of a run, on $name", ({ newFixture }) => {
  it("are yielded with each event of the run and with its outcomes, and stored once", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [sending().tool], ...auto });
    const outcome = { type: "Mail", status: "final" };
    const named = { plan_id: "p1", steps: [{ step_id: "s", name: "send", payload: {}, outcome }] };
    const traceId = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const run = await engine.submit(named, { ...at, correlationId: "order-7", traceId });
    const { outcomes } = await run.result();
    const ids = { run_id: run.run_id, plan_id: "p1", correlation_id: "order-7", trace_id: traceId };
    const seen: object[] = [];
    for await (const recorded of run.events()) seen.push({ type: recorded.event.type, ids: recorded.ids });
    const attempt = { ...ids, step_id: "s", job_id: `${run.run_id}/s/1` };
    expect(seen).toEqual([
      { type: "run.accepted", ids },
      { type: "step.started", ids: attempt },
      { type: "step.succeeded", ids: attempt },
      { type: "run.ended", ids },
    ]);
    const later = [];
    for await (const recorded of run.events({ after: 2 })) later.push(recorded.ids);
    expect(later).toEqual([attempt, ids]);
    expect((await engine.outcome(outcomes[0]?.outcome_id as string, { principal: anaPerson })).ids).toEqual(attempt);
    const [started] = await collectEvents(run, "step.started");
    expect(JSON.stringify(started)).not.toContain("order-7");
  });
});
