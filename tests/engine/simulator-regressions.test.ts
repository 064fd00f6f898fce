import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { CompletedAct } from "../../src/core/tool/tool.ts";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import type { RunId } from "../../src/core/values/ids.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { fakeClock } from "../../src/testing/fake-clock.ts";
import { manualTimers } from "../../src/testing/manual-timers.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  deferred,
  neverAnswers,
  rejectedFault,
  scriptedTool,
  type ToolBehaviour,
  throwsFault,
} from "./scripted-tool.ts";

const minute = 60_000;
const send = { step_id: "send", name: "send", payload: { to: "ana" } };

/** Bugs that the simulator found, one test for each. */
describe.each(storeKinds)("on $name", ({ newFixture: newStage }) => {
  it("a run that ends again with the same status still passes its audit", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [scriptedTool("send", throwsFault("NETWORK_TIMEOUT")).tool] });
    const run = await engine.submit({ steps: [send] }, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "give_up" });
    await run.finished();
    await stage.advance(minute);
    await engine.resume(run.run_id, { principal: anaPerson });
    const ended = (await collectEvents(run, "run.ended")).at(-1);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
    expect(await engine.runs({ principal: anaPerson })).toMatchObject([{ status: "failed", ended_at: ended?.at }]);
  });

  it("an act with a longer timeout in the plan is not called absent before it has passed", async () => {
    const stage = newStage();
    const seen: number[] = [];
    const verify = async () => {
      seen.push(stage.clock.now());
      return { saw: "absent" } as const;
    };
    const tool = scriptedTool("send", [throwsFault("NETWORK_TIMEOUT"), () => ({})], {
      verify,
      timeoutMs: 1000,
      settleAfter: 1000,
    }).tool;
    const engine = await stage.open({ tools: [tool] });
    const run = await engine.submit({ steps: [{ ...send, timeout_ms: 10 * minute }] }, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).final).toBe(false);
    for (let passed = 0; passed < 12; passed += 1) await stage.advance(minute);
    const [doubted] = await collectEvents(run, "step.doubted");
    expect(seen).toHaveLength(2);
    expect(seen[1]).toBeGreaterThanOrEqual((doubted?.at ?? 0) + 10 * minute + 1000);
  });

  it("an undo receives the key of its act, also after a repetition", async () => {
    const stage = newStage();
    const undone: CompletedAct[] = [];
    const compensate = async (done: CompletedAct) => {
      undone.push(done);
    };
    const mail = scriptedTool("send", () => ({}), { identity: ["to"], compensate: compensate as never });
    const engine = await stage.open({ tools: [mail.tool] });
    await (await engine.submit({ steps: [send] }, { principal: botAgent })).result();
    const again = await engine.submit({ steps: [send] }, { principal: botAgent });
    const [gate] = (await again.result()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    await again.result();
    await engine.resolve(again.run_id, "send", { principal: anaPerson, as: "undo" });
    await again.finished();
    expect(undone.map(({ key }) => key)).toEqual([mail.calls[1]?.context.key]);
    expect(mail.calls[1]?.context.key).not.toBe(mail.calls[0]?.context.key);
  });

  it("an act in doubt is settled though another run repeated it and took the ledger row", async () => {
    const stage = newStage();
    const mail = scriptedTool("send", [throwsFault("NETWORK_TIMEOUT"), () => ({ id: "second" })], { identity: ["to"] });
    const engine = await stage.open({ tools: [mail.tool] });
    const doubtful = await engine.submit({ steps: [send] }, { principal: botAgent });
    await doubtful.result();
    const again = await engine.submit({ steps: [send] }, { principal: botAgent });
    const [gate] = (await again.result()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    expect((await again.result()).status).toBe("completed");
    await engine.resolve(doubtful.run_id, "send", { principal: anaPerson, as: "happened", output: { id: "first" } });
    expect(await doubtful.result()).toMatchObject({
      status: "completed",
      steps: { send: { output: { id: "first" } } },
    });
    expect(await collectEvents(doubtful, "step.superseded")).toMatchObject([
      { by: { run: again.run_id, generation: 2 } },
    ]);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
    const third = await engine.submit({ steps: [send] }, { principal: botAgent });
    expect((await third.result()).gates[0]?.reason).toContain(again.run_id);
  });

  it("an act repeated in the run that doubts it takes the ledger row back", async () => {
    const stage = newStage();
    const mail = scriptedTool("send", [neverAnswers, () => ({}), neverAnswers], {
      identity: ["to"],
      timeoutMs: minute,
    });
    const engine = await stage.open({ tools: [mail.tool] });
    const twice = [send, { ...send, step_id: "remind" }];
    const doubtful = await engine.submit({ steps: twice }, { principal: botAgent });
    await stage.advance(2 * minute);
    const another = await engine.submit({ steps: [send] }, { principal: botAgent });
    const [held] = (await another.result()).gates;
    await engine.approve(held?.gate_id ?? "", { principal: anaPerson });
    await another.result();
    await stage.advance(2 * minute);
    const [gate] = (await doubtful.now()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    await stage.advance(1000);
    expect(mail.calls).toHaveLength(3);
    await stage.crash();
    const heir = await stage.open({ tools: [mail.tool] });
    await stage.advance(minute);
    const found = await heir.run(doubtful.run_id, { principal: botAgent });
    expect((await found.now()).steps).toMatchObject({ send: { state: "in_doubt" }, remind: { state: "in_doubt" } });
    expect((await heir.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("an act is undone though another run repeated it", async () => {
    const stage = newStage();
    const mail = scriptedTool("send", () => ({}), { identity: ["to"], compensate: () => ({}) });
    const engine = await stage.open({ tools: [mail.tool] });
    const first = await engine.submit({ steps: [send] }, { principal: botAgent });
    await first.result();
    const again = await engine.submit({ steps: [send] }, { principal: botAgent });
    const [gate] = (await again.result()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    await again.result();
    await engine.resolve(first.run_id, "send", { principal: anaPerson, as: "undo" });
    expect((await first.finished()).steps.send).toMatchObject({ state: "compensated" });
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("a resendable call is resent with growing delays while the service is down", async () => {
    const stage = newStage();
    const down = throwsFault("NETWORK_TIMEOUT");
    const slow: ToolBehaviour = (call) => {
      stage.clock.advance(5);
      return down(call);
    };
    const mail = scriptedTool("send", slow, { idempotent: { forMs: 60 * minute }, timeoutMs: 1000 });
    const engine = await stage.open({ tools: [mail.tool] });
    await engine.submit({ steps: [send] }, { principal: botAgent });
    for (let passed = 0; passed < 5; passed += 1) await stage.advance(minute);
    expect(mail.calls.length).toBeGreaterThan(5);
    expect(mail.calls.length).toBeLessThan(15);
  });

  it("a person's answer applies to the attempt they saw, though the run has moved on", async () => {
    const stage = newStage();
    const real = stage.store();
    const [sent, late] = [deferred<void>(), deferred<void>()];
    const append: Store["append"] = async (entries) => {
      sent.keep();
      await late.promise;
      return real.append(entries);
    };
    const tools = [scriptedTool("send", throwsFault("NETWORK_TIMEOUT")).tool];
    const worker = await stage.open({ tools });
    const run = await worker.submit({ steps: [send] }, { principal: botAgent });
    await run.result();
    const door = await stage.open({ tools, work: false, store: { ...real, append } });
    const slow = rejectedFault(
      door.resolve(run.run_id, "send", { principal: anaPerson, as: "absent", reason: "by post" }),
    );
    await sent.promise;
    await worker.resolve(run.run_id, "send", { principal: anaPerson, as: "absent" });
    await run.result();
    late.keep();
    expect((await slow).code).toBe("NOT_POSSIBLE");
    expect((await run.now()).steps.send).toMatchObject({ state: "in_doubt" });
  });

  it("an approval is consumed for good, also by a call that does not act, despite a power cut", async () => {
    const stage = newStage();
    const real = stage.store();
    const synced: string[] = [];
    const append: Store["append"] = (entries) => {
      for (const { flush, events } of entries) if (flush === "hard") synced.push(...events.map(({ type }) => type));
      return real.append(entries);
    };
    const ask = scriptedTool("ask", () => 1, { effect: "reads" });
    const engine = await stage.open({ tools: [ask.tool], store: { ...real, append } });
    const plan = { steps: [{ step_id: "a", name: "ask", gate: "human_confirm" }] };
    const run = await engine.submit(plan, { principal: botAgent });
    const [gate] = (await run.result()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect(synced).toContain("step.started");
  });

  it("a gate that is opened while another step ends the plan is opened, then closed", async () => {
    const stage = newStage();
    const engine = await stage.open({
      tools: [scriptedTool("look", () => 1, { effect: "reads" }).tool, scriptedTool("send", () => 1).tool],
    });
    const gated = { name: "look", gate: "human_confirm" };
    const steps = [{ step_id: "a", ...gated }, { step_id: "b", ...gated }, { step_id: "c", ...gated }, send];
    const run = await engine.submit({ steps }, { principal: botAgent, mode: "draft_only" });
    expect(await run.result()).toMatchObject({ status: "failed", gates: [] });
    expect(await collectEvents(run, "gate.closed")).toHaveLength(3);
  });
});

describe("worker whose lease ended unnoticed", () => {
  it("passes a command to the worker that has the run now", async () => {
    const stage = (storeKinds[0] as (typeof storeKinds)[number]).newFixture();
    const tools = [scriptedTool("send", neverAnswers, { timeoutMs: 10 * minute }).tool];
    const old = await stage.open({ tools });
    const run = await old.submit({ steps: [send] }, { principal: botAgent });
    await stage.advance(100);
    stage.clock.advance(minute); // A machine asleep: nothing rings, and the lease runs out.
    const young = await stage.open({ tools, work: true });
    await stage.advance(0);
    await run.cancel({ reason: "enough" });
    const seen = await (await young.run(run.run_id, { principal: botAgent })).now();
    expect(seen.steps.send).toMatchObject({ state: "in_doubt" });
    expect(await collectEvents(run, "cancel.requested")).toHaveLength(1);
    expect((await rejectedFault(old.approve("gate_nowhere", { principal: anaPerson }))).code).toBe("GATE_NOT_FOUND");
  });
});

describe("store that fails while a timeout is recorded", () => {
  it("does not let a late error overtake it: errors mean nothing after a timeout", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const real = memoryStore({ clock });
    let failures = 1;
    const store: Store = {
      ...real,
      append: async (entries) => {
        const doubts = entries.some(({ events }) => events.some(({ type }) => type === "step.doubted"));
        if (doubts && failures-- > 0) throw new FaultError(fault("STORE_FAILED", "no room"));
        return real.append(entries);
      },
    };
    const aborted: ToolBehaviour = ({ context: { signal } }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    const tool = scriptedTool("send", aborted, { errorsMean: "not_done", timeoutMs: 1000 }).tool;
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const engine = await createEngine({ store, timers, dice: () => 0.5, tools: [tool], tenants });
    const run = await engine.submit({ steps: [send] }, { principal: botAgent });
    await timers.pass(minute);
    expect((await run.now()).steps.send).toMatchObject({ state: "in_doubt" });
  });
});

describe("store that fails while a timeout is recorded and a late value arrives", () => {
  it("records both in order: the cost so far is not lost", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const real = memoryStore({ clock });
    const answer = deferred<object>();
    let failures = 1;
    const store: Store = {
      ...real,
      append: async (entries) => {
        const doubts = entries.some(({ events }) => events.some(({ type }) => type === "step.doubted"));
        if (!doubts || failures-- <= 0) return real.append(entries);
        answer.keep({ id: 1 });
        throw new FaultError(fault("STORE_FAILED", "no room"));
      },
    };
    const costly: ToolBehaviour = ({ context }) => {
      context.cost({ usd_micros: 5 });
      return answer.promise;
    };
    const tool = scriptedTool("send", costly, { timeoutMs: 1000 }).tool;
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const engine = await createEngine({ store, timers, dice: () => 0.5, tools: [tool], tenants });
    const run = await engine.submit({ steps: [send] }, { principal: botAgent });
    await timers.pass(minute);
    expect(await run.now()).toMatchObject({ status: "completed", spent: { usd_micros: 5 } });
  });
});

describe("worker that slept longer than its lease", () => {
  it("keeps its runs, though the first renewal fails", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const real = memoryStore({ clock });
    let failures = 1;
    const store: Store = {
      ...real,
      renew: async (...given) => {
        if (clock.now() > asleep && failures-- > 0) throw new FaultError(fault("STORE_FAILED", "not yet awake"));
        return real.renew(...given);
      },
    };
    const answer = deferred<object>();
    const tool = scriptedTool("send", () => answer.promise, { timeoutMs: 10 * minute }).tool;
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const engine = await createEngine({ store, timers, dice: () => 0.5, tools: [tool], tenants });
    const run = await engine.submit({ steps: [send] }, { principal: botAgent });
    await timers.pass(1000);
    const asleep = clock.now();
    clock.advance(minute);
    await timers.pass(5000);
    answer.keep({});
    await timers.pass(1000);
    expect((await run.now()).status).toBe("completed");
    expect(await collectEvents(run, "step.doubted")).toEqual([]);
  });
});

describe("command that is decided behind another", () => {
  it("is not answered before the other has landed: it may be decided again on the real state", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const real = memoryStore({ clock });
    const heard = deferred<void>();
    let slow = false;
    const store: Store = {
      ...real,
      append: async (entries) => {
        const landings = await real.append(entries);
        if (slow && entries.some(({ events }) => events[0]?.type === "step.succeeded")) await heard.promise;
        return landings;
      },
    };
    const answer = deferred<object>();
    const look = scriptedTool("look", () => answer.promise, { effect: "reads", timeoutMs: 10 * minute });
    const next = scriptedTool("next", () => ({}), { effect: "reads" });
    const tools = [look.tool, next.tool];
    const limits = { gateMs: minute };
    // With another durability, the run moves on before the result is stored.
    const worker = await createEngine({ store, timers, clock, dice: () => 0.5, tools, limits, durability: "every" });
    const office = await createEngine({ store: real, timers, clock, dice: () => 0.5, tools, limits, work: false });
    const steps = [
      { step_id: "look", name: "look" },
      { step_id: "ask", name: "next", gate: "human_confirm", on_rejected: "stop" },
      { step_id: "next", name: "next", depends_on: ["look"] },
    ];
    const run = await worker.submit({ steps }, { principal: botAgent });
    await timers.pass(1000);
    const [gate] = (await run.now()).gates;
    slow = true;
    answer.keep({});
    await timers.pass(0);
    clock.advance(minute);
    // The office learns that the gate has expired, and so does the worker, each by itself.
    await expect(office.approve(gate?.gate_id ?? "", { principal: anaPerson })).rejects.toThrow();
    await timers.pass(0);
    heard.keep();
    await timers.pass(minute);
    expect(await run.now()).toMatchObject({ status: "partial", final: true });
    expect(await collectEvents(run, "step.rejected")).toMatchObject([{ step_id: "next", fault: { code: "ABORTED" } }]);
  });
});

describe("store that confirms a call too late", () => {
  it("prevents the call, which another worker may treat as absent; it is retried", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const real = memoryStore({ clock });
    let slow = true;
    const store: Store = {
      ...real,
      mark: async (...given) => {
        const written = await real.mark(...given);
        if (slow) clock.advance(11_000);
        slow = false;
        return written;
      },
    };
    const mail = scriptedTool("send", () => ({}));
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const engine = await createEngine({ store, timers, dice: () => 0.5, tools: [mail.tool], tenants });
    const run = await engine.submit({ steps: [send] }, { principal: botAgent });
    await timers.pass(30_000);
    expect((await run.now()).status).toBe("completed");
    expect(mail.calls.map(({ context }) => context.attempt)).toEqual([2]);
  });
});

describe("child run that starts while its parent is cancelled", () => {
  it("is cancelled too: the cancel is delivered after a second look", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const real = memoryStore({ clock });
    const comes = deferred<void>();
    const came = deferred<void>();
    let child: RunId | null = null;
    const store: Store = {
      ...real,
      append: async (entries) => {
        const born = entries.find(({ events }) => events[0]?.body.includes('"parent":'));
        if (born === undefined || child !== null) return real.append(entries);
        child = born.run;
        await comes.promise;
        const landings = await real.append(entries);
        came.keep();
        return landings;
      },
      head: async (tenant, run) => {
        if (run === child) {
          comes.keep();
          await came.promise;
        }
        return real.head(tenant, run);
      },
    };
    const slow = scriptedTool("slow", neverAnswers, { effect: "reads", timeoutMs: 10 * minute });
    const engine = await createEngine({ store, timers, dice: () => 0.5, tools: [slow.tool] });
    const below = { steps: [{ step_id: "s", name: "slow" }] };
    const steps = [{ step_id: "ask", kind: "run", payload: { plan: below } }];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await timers.pass(0);
    await run.cancel({ reason: "not needed" });
    await timers.pass(minute);
    expect((await (await engine.run(child ?? "", { principal: botAgent })).now()).status).toBe("cancelled");
    expect((await run.now()).status).toBe("cancelled");
    await engine.close();
  });
});
