import { describe, expect, it } from "vitest";
import type { Sighting, Tool } from "../../src/core/tool/tool.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, neverAnswers, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const done = { saw: "happened", output: { ok: 1 } } as const;

/** A tool that acts, and whose verifier gives this answer. */
function actTool(name: string, answer: () => Sighting | Promise<Sighting>, more: object = {}): Tool {
  return scriptedTool(name, () => ({ ok: 1 }), { verify: (async () => answer()) as never, ...more }).tool;
}

const acts = {
  confirmed: () => done,
  different: () => ({ ...done, differs: "another amount" }),
  missing: () => ({ saw: "absent" }),
  unknown: () => ({ saw: "unknown", why: "no connection" }),
  broken: () => {
    throw new Error("the verifier crashed");
  },
} satisfies Record<string, () => Sighting>;

const tools = [
  ...Object.entries(acts).map(([name, answer]) => actTool(name, answer)),
  scriptedTool("blind", () => ({ ok: 1 })).tool,
  scriptedTool("look", () => ({ ok: 1 }), { effect: "reads" }).tool,
];
const plan = { steps: tools.map(({ name }) => ({ step_id: name, name })) };

describe.each(storeKinds)("the verification of a run, on $name", ({ newFixture }) => {
  it("reports for every recorded act whether it is still in effect, and records that", async () => {
    const engine = await newFixture().open({ tools });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const found = await engine.verify(run.run_id, { principal: anaPerson, reason: "monthly check" });
    expect(found).toEqual([
      { step_id: "confirmed", tool: "confirmed", found: "confirmed", why: null },
      { step_id: "different", tool: "different", found: "different", why: "another amount" },
      { step_id: "missing", tool: "missing", found: "missing", why: null },
      { step_id: "unknown", tool: "unknown", found: "unknown", why: "no connection" },
      { step_id: "broken", tool: "broken", found: "unknown", why: "the verifier crashed" },
      { step_id: "blind", tool: "blind", found: "not_verifiable", why: null },
    ]);
    expect(await collectEvents(run, "run.verified")).toMatchObject([
      { by: "ana", reason: "monthly check", acts: found },
    ]);
    expect(await run.result()).toMatchObject({ status: "completed", final: true });
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("is recorded for a run without acts, too, and asks a verifier of this process only", async () => {
    const stage = newFixture();
    const first = await stage.open({ tools });
    const plain = await first.call("look", {}, { principal: botAgent });
    expect(await first.verify(plain.run_id, { principal: botAgent })).toEqual([]);
    const acted = await first.call("confirmed", {}, { principal: botAgent });
    await first.close();
    const second = await stage.open({ tools: [], work: false });
    expect(await second.verify(acted.run_id, { principal: anaPerson })).toMatchObject([
      { found: "unknown", why: "this worker does not have its verifier" },
    ]);
  });

  it("confirms an undo if the act is gone", async () => {
    const world = { acts: 1 };
    const tool = actTool("book", () => (world.acts > 0 ? done : { saw: "absent" }), {
      compensate: async () => {
        world.acts = 0;
      },
    });
    const engine = await newFixture().open({ tools: [tool] });
    const { run_id } = await engine.call("book", {}, { principal: botAgent });
    await engine.undo(run_id, { principal: anaPerson });
    const verify = () => engine.verify(run_id, { principal: anaPerson });
    expect(await verify()).toMatchObject([{ step_id: "undo.call.1", found: "confirmed" }]);
    world.acts = 1;
    expect(await verify()).toMatchObject([{ step_id: "undo.call.1", found: "missing" }]);
  });

  it("does not wait longer for a verifier than the timeout of its tool", async () => {
    const stage = newFixture();
    const slow = actTool("slow", () => neverAnswers(undefined as never) as Promise<Sighting>, { timeoutMs: 50 });
    const engine = await stage.open({ tools: [slow] });
    const { run_id } = await engine.call("slow", {}, { principal: botAgent });
    const asked = engine.verify(run_id, { principal: anaPerson });
    await stage.advance(50);
    expect(await asked).toMatchObject([{ found: "unknown", why: "its verifier did not answer within 50 ms" }]);
  });

  it("stops later steps by the rules of confirm if an act is missing, but not if that is unknown", async () => {
    const answers: Sighting[] = [{ saw: "unknown" }, { saw: "absent" }, done];
    const stage = newFixture();
    const send = actTool("send", () => answers.shift() ?? done, { confirm: "strict" });
    const look = scriptedTool("look", () => ({ ok: 1 }), { effect: "reads" });
    const engine = await stage.open({ tools: [send, look.tool] });
    const pause = (step_id: string, after: string) => ({
      step_id,
      kind: "wait",
      payload: { ms: 1000 },
      depends_on: [after],
    });
    const run = await engine.submit(
      {
        steps: [
          { step_id: "send", name: "send" },
          pause("p1", "send"),
          { step_id: "a", name: "look", depends_on: ["p1"] },
          pause("p2", "a"),
          { step_id: "b", name: "look", depends_on: ["p2"] },
        ],
      },
      { principal: botAgent },
    );
    const verify = () => engine.verify(run.run_id, { principal: anaPerson });
    await run.result();
    expect(await verify()).toMatchObject([{ found: "unknown" }]);
    await stage.advance(1000);
    expect((await run.result()).steps.a?.state).toBe("succeeded");
    expect(await verify()).toMatchObject([{ found: "missing" }]);
    await stage.advance(1000);
    expect((await run.result()).steps.b).toMatchObject({ state: "rejected", fault: { code: "CONFIRMATION_FAILED" } });
    expect((await (await engine.resume(run.run_id, { principal: anaPerson })).result()).status).toBe("completed");
  });

  it("is for the agent that submitted the run, services and people of its tenant", async () => {
    const engine = await newFixture().open({ tools });
    const { run_id } = await engine.call("confirmed", {}, { principal: botAgent });
    const other = { id: "other", kind: "agent", tenant: "acme" } as const;
    expect(await rejectedFault(engine.verify(run_id, { principal: other }))).toMatchObject({ code: "AUTH_FORBIDDEN" });
    const service = { id: "cron", kind: "service", tenant: "acme" } as const;
    expect(await engine.verify(run_id, { principal: service })).toHaveLength(1);
    const unknown = engine.verify("run_none", { principal: anaPerson });
    expect(await rejectedFault(unknown)).toMatchObject({ code: "RUN_NOT_FOUND" });
  });
});
