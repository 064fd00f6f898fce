import { describe, expect, it } from "vitest";
import type { Sighting, Tool } from "../../src/core/tool/tool.ts";
import type { Engine, RunHandle } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool, type ToolBehaviour, throwsFault } from "./scripted-tool.ts";

/** A mailbox in which a sent mail can be lost, and a tool that sends to it and verifies. */
function mailbox(confirm: Tool["confirm"]) {
  const world: { mails: number; probes: number; sighting: Sighting | null } = { mails: 0, probes: 0, sighting: null };
  const verify = async (): Promise<Sighting> => {
    world.probes += 1;
    if (world.sighting !== null) return world.sighting;
    return world.mails > 0 ? { saw: "happened", output: { id: "m1" } } : { saw: "absent" };
  };
  const sends: ToolBehaviour = () => {
    world.mails += 1;
    return { id: "m1" };
  };
  const { tool, calls } = scriptedTool("mail.send", sends, { confirm, verify: verify as never });
  return { world, tool, calls };
}

/** A tool that fails with a fault that is not retried, until it is repaired. */
function fragile(effect: "reads" | "acts" = "reads") {
  const state = { broken: true };
  const behaviour: ToolBehaviour = (call) => (state.broken ? throwsFault("POLICY_DENIED")(call) : { ok: 1 });
  return { state, ...scriptedTool("note", behaviour, { effect }) };
}

const send = { step_id: "send", name: "mail.send", payload: { to: "ana" } };
const note = (step_id: string, ...depends_on: readonly string[]) => ({ step_id, name: "note", depends_on });
const chain = { steps: [send, note("note", "send")] };

async function failedRun(engine: Engine, plan: object = chain): Promise<RunHandle> {
  const run = await engine.submit(plan, { principal: botAgent, requestKey: "k" });
  expect((await run.result()).status).toBe("partial");
  return run;
}

const resumed = async (engine: Engine, { run_id }: RunHandle) =>
  (await engine.resume(run_id, { principal: anaPerson })).result();

async function opened(stage: EngineFixture, confirm: Tool["confirm"], plan: object = chain) {
  const mail = mailbox(confirm);
  const fails = fragile();
  const tools = [mail.tool, fails.tool];
  const engine = await stage.open({ tools });
  const run = await failedRun(engine, plan);
  fails.state.broken = false;
  return { mail, fails, tools, engine, run };
}

describe.each(storeKinds)("an act that a resumed run relies on, on $name", ({ newFixture }) => {
  it("is confirmed once, on record, before the first step that relies on it", async () => {
    const plan = { steps: [send, note("a", "send"), note("b", "send"), note("c", "a", "b")] };
    const { mail, engine, run } = await opened(newFixture(), "strict", plan);
    expect(mail.world.probes).toBe(0);
    expect((await resumed(engine, run)).status).toBe("completed");
    expect([mail.world.probes, mail.calls.length]).toEqual([1, 1]);
    expect(await collectEvents(run, "run.verified")).toMatchObject([
      { by: null, acts: [{ step_id: "send", tool: "mail.send", found: "confirmed", why: null }] },
    ]);
  });

  it("rejects the later step if it is gone and its tool is strict, and continues when it is back", async () => {
    const { mail, fails, engine, run } = await opened(newFixture(), "strict");
    mail.world.mails = 0;
    const gone = await resumed(engine, run);
    expect(gone).toMatchObject({
      status: "partial",
      final: true,
      steps: { send: { state: "succeeded" }, note: { state: "rejected", fault: { code: "CONFIRMATION_FAILED" } } },
    });
    expect(gone.steps.note?.fault?.message).toContain("send is recorded, but the verifier disagrees: it is not there");
    expect([mail.calls.length, fails.calls.length]).toEqual([1, 1]);
    mail.world.mails = 1;
    expect((await resumed(engine, run)).status).toBe("completed");
    expect([mail.world.probes, mail.calls.length, fails.calls.length]).toEqual([2, 1, 2]);
  });

  it.each<[string, Sighting, string]>([
    ["differs", { saw: "happened", output: { id: "m1" }, differs: "another subject" }, "another subject"],
    ["is unknown", { saw: "unknown", why: "no connection" }, "it could not be confirmed (no connection)"],
  ])("is not relied on if it %s and its tool is strict", async (_, sighting, why) => {
    const { mail, engine, run } = await opened(newFixture(), "strict");
    mail.world.sighting = sighting;
    expect((await resumed(engine, run)).steps.note?.fault?.message).toContain(why);
  });

  it("is only recorded as gone if its tool warns", async () => {
    const { mail, engine, run } = await opened(newFixture(), "warn");
    mail.world.mails = 0;
    expect((await resumed(engine, run)).status).toBe("completed");
    expect(await collectEvents(run, "run.verified")).toMatchObject([{ acts: [{ found: "missing" }] }]);
  });

  it("holds the later step if it is gone and its tool says gate, and an approval continues", async () => {
    const { mail, fails, engine, run } = await opened(newFixture(), "gate");
    mail.world.mails = 0;
    const held = await resumed(engine, run);
    expect(held).toMatchObject({ final: false, steps: { note: { state: "waiting_approval" } } });
    const [gate] = held.gates;
    expect(gate?.reason).toContain("CONFIRMATION_FAILED: send is recorded, but the verifier disagrees");
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect([mail.world.probes, mail.calls.length, fails.calls.length]).toEqual([1, 1, 2]);
  });

  it("is not asked about if no step relies on it, or if its tool does not demand it", async () => {
    const independent = await opened(newFixture(), "strict", {
      steps: [
        send,
        { ...note("note"), on_failure: "skip" },
        { step_id: "end", kind: "assertion", payload: { step: "note", path: "", operator: "exists" } },
      ],
    });
    independent.mail.world.mails = 0;
    expect((await resumed(independent.engine, independent.run)).status).toBe("completed");
    const plain = await opened(newFixture(), "none");
    plain.mail.world.mails = 0;
    expect((await resumed(plain.engine, plain.run)).status).toBe("completed");
    expect([independent.mail.world.probes, plain.mail.world.probes]).toEqual([0, 0]);
  });

  it("is confirmed for steps that rely on it through other steps", async () => {
    const stage = newFixture();
    const mail = mailbox("strict");
    const fails = fragile();
    const title = scriptedTool("title", () => ({ ok: 1 }), { effect: "pure" });
    const engine = await stage.open({ tools: [mail.tool, fails.tool, title.tool] });
    const between = { step_id: "between", name: "title", depends_on: ["send"] };
    const check = {
      step_id: "check",
      kind: "assertion",
      payload: { step: "between", path: "/ok", operator: "eq", value: 1 },
    };
    const run = await failedRun(engine, { steps: [send, between, check, note("note", "check")] });
    fails.state.broken = false;
    mail.world.mails = 0;
    expect((await resumed(engine, run)).steps.note).toMatchObject({ fault: { code: "CONFIRMATION_FAILED" } });
  });
});

describe.each(storeKinds)("an act that a restarted run relies on, on $name", ({ newFixture }) => {
  const pause = { step_id: "pause", kind: "wait", payload: { ms: 1000 }, depends_on: ["send"] };
  const waiting = { steps: [send, pause, note("note", "pause")] };

  it("is confirmed by the next process, once, and not by the process that did it", async () => {
    const stage = newFixture();
    const mail = mailbox("strict");
    const tools = [mail.tool, scriptedTool("note", () => ({ ok: 1 }), { effect: "reads" }).tool];
    const first = await stage.open({ tools });
    const stays = await first.submit(waiting, { principal: botAgent });
    await stays.result();
    await stage.advance(1000);
    expect((await stays.result()).status).toBe("completed");
    expect(mail.world.probes).toBe(0);
    const moves = await first.submit(
      { ...waiting, steps: [{ ...send, payload: { to: "bob" } }, ...waiting.steps.slice(1)] },
      { principal: botAgent },
    );
    await moves.result();
    await first.close();
    const second = await stage.open({ tools });
    await stage.advance(1000);
    const again = await second.run(moves.run_id, { principal: botAgent });
    expect((await again.result()).status).toBe("completed");
    expect(mail.world.probes).toBe(1);
    expect(await collectEvents(again, "run.verified")).toHaveLength(1);
  });

  it("is found missing after its worker died", async () => {
    const stage = newFixture();
    const mail = mailbox("strict");
    const stuck = scriptedTool("note", () => new Promise(() => {}), { effect: "reads" });
    const first = await stage.open({ tools: [mail.tool, stuck.tool] });
    const run = await first.submit(chain, { principal: botAgent });
    await stage.advance(0);
    expect(stuck.calls).toHaveLength(1);
    await stage.crash();
    mail.world.mails = 0;
    const second = await stage.open({ tools: [mail.tool, stuck.tool] });
    await stage.advance(0);
    const after = await stage.runUntilIdle(await second.run(run.run_id, { principal: botAgent }));
    expect(after.steps.note).toMatchObject({ state: "rejected", fault: { code: "CONFIRMATION_FAILED" } });
    expect([mail.calls.length, stuck.calls.length]).toEqual([1, 1]);
  });

  it("needs a new approval if it is found missing after the later call was approved", async () => {
    const stage = newFixture();
    const mail = mailbox("gate");
    const deed = scriptedTool("note", () => ({ ok: 1 }));
    const tenants = { acme: { mode: "human_gated", trust: ["mail.send"] } } as const;
    const first = await stage.open({ tools: [mail.tool, deed.tool], tenants });
    const run = await first.submit(chain, { principal: botAgent });
    const [asked] = (await run.result()).gates;
    await first.close();
    mail.world.mails = 0;
    const second = await stage.open({ tools: [mail.tool, deed.tool], tenants });
    await second.approve(asked?.gate_id ?? "", { principal: anaPerson });
    const again = await second.run(run.run_id, { principal: anaPerson });
    const [held] = (await again.result()).gates;
    expect(held?.stale).toMatchObject({ code: "CONFIRMATION_FAILED" });
    expect(deed.calls).toHaveLength(0);
    await second.approve(held?.gate_id ?? "", { principal: anaPerson });
    expect((await again.result()).status).toBe("completed");
    expect(deed.calls).toHaveLength(1);
  });
});
