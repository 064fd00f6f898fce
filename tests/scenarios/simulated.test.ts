import { describe, expect, it } from "vitest";
import { FaultError, fault } from "../../src/core/fault.ts";
import type { RunId } from "../../src/core/id.ts";
import type { Store } from "../../src/core/store.ts";
import type { Done } from "../../src/core/tool.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { fakeClock } from "../../src/testing/clock.ts";
import { manualTimers } from "../../src/testing/timers.ts";
import { actor, type Deed, eventsOf, faultOf, hang, promised, throws } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const minute = 60_000;
const send = { step_id: "send", name: "send", payload: { to: "ana" } };

/** What the simulator found first, told as stories. */
describe.each(places)("on $name", ({ newStage }) => {
  it("a run that ends anew, as it had ended before, still passes its audit", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [actor("send", throws("NETWORK_TIMEOUT")).tool] });
    const run = await engine.submit({ steps: [send] }, { principal: bot });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: ana, as: "give_up" });
    await run.finished();
    await stage.pass(minute);
    await engine.resume(run.run_id, { principal: ana });
    const ended = (await eventsOf(run, "run.ended")).at(-1);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
    expect(await engine.runs({ principal: ana })).toMatchObject([{ status: "failed", ended_at: ended?.at }]);
  });

  it("an act that its plan gives more time is not called absent before that time has passed", async () => {
    const stage = newStage();
    const seen: number[] = [];
    const verify = async () => {
      seen.push(stage.clock.now());
      return { saw: "absent" } as const;
    };
    const tool = actor("send", [throws("NETWORK_TIMEOUT"), () => ({})], {
      verify,
      timeoutMs: 1000,
      settleAfter: 1000,
    }).tool;
    const engine = await stage.open({ tools: [tool] });
    const run = await engine.submit({ steps: [{ ...send, timeout_ms: 10 * minute }] }, { principal: bot });
    expect((await stage.rest(run)).final).toBe(false);
    for (let passed = 0; passed < 12; passed += 1) await stage.pass(minute);
    const [doubted] = await eventsOf(run, "step.doubted");
    expect(seen).toHaveLength(2);
    expect(seen[1]).toBeGreaterThanOrEqual((doubted?.at ?? 0) + 10 * minute + 1000);
  });

  it("an undo receives the key that its act was done under, also when that was done again", async () => {
    const stage = newStage();
    const undone: Done[] = [];
    const compensate = async (done: Done) => {
      undone.push(done);
    };
    const mail = actor("send", () => ({}), { identity: ["to"], compensate: compensate as never });
    const engine = await stage.open({ tools: [mail.tool] });
    await (await engine.submit({ steps: [send] }, { principal: bot })).result();
    const again = await engine.submit({ steps: [send] }, { principal: bot });
    const [gate] = (await again.result()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: ana });
    await again.result();
    await engine.resolve(again.run_id, "send", { principal: ana, as: "undo" });
    await again.finished();
    expect(undone.map(({ key }) => key)).toEqual([mail.calls[1]?.context.key]);
    expect(mail.calls[1]?.context.key).not.toBe(mail.calls[0]?.context.key);
  });

  it("an act in doubt is settled though another run was told to do it again, and took its place in the ledger", async () => {
    const stage = newStage();
    const mail = actor("send", [throws("NETWORK_TIMEOUT"), () => ({ id: "second" })], { identity: ["to"] });
    const engine = await stage.open({ tools: [mail.tool] });
    const doubtful = await engine.submit({ steps: [send] }, { principal: bot });
    await doubtful.result();
    const again = await engine.submit({ steps: [send] }, { principal: bot });
    const [gate] = (await again.result()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: ana });
    expect((await again.result()).status).toBe("completed");
    await engine.resolve(doubtful.run_id, "send", { principal: ana, as: "happened", output: { id: "first" } });
    expect(await doubtful.result()).toMatchObject({
      status: "completed",
      steps: { send: { output: { id: "first" } } },
    });
    expect(await eventsOf(doubtful, "step.superseded")).toMatchObject([{ by: { run: again.run_id, generation: 2 } }]);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
    const third = await engine.submit({ steps: [send] }, { principal: bot });
    expect((await third.result()).gates[0]?.reason).toContain(again.run_id);
  });

  it("an act that is done again in the run that doubts it takes the ledger's row from it, whoever had it in between", async () => {
    const stage = newStage();
    const mail = actor("send", [hang, () => ({}), hang], { identity: ["to"], timeoutMs: minute });
    const engine = await stage.open({ tools: [mail.tool] });
    const twice = [send, { ...send, step_id: "remind" }];
    const doubtful = await engine.submit({ steps: twice }, { principal: bot });
    await stage.pass(2 * minute);
    const another = await engine.submit({ steps: [send] }, { principal: bot });
    const [held] = (await another.result()).gates;
    await engine.approve(held?.gate_id ?? "", { principal: ana });
    await another.result();
    await stage.pass(2 * minute);
    const [gate] = (await doubtful.now()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: ana });
    await stage.pass(1000);
    expect(mail.calls).toHaveLength(3);
    await stage.crash();
    const heir = await stage.open({ tools: [mail.tool] });
    await stage.pass(minute);
    const found = await heir.run(doubtful.run_id, { principal: bot });
    expect((await found.now()).steps).toMatchObject({ send: { state: "in_doubt" }, remind: { state: "in_doubt" } });
    expect((await heir.audit({ principal: ana })).broken).toEqual([]);
  });

  it("an act is undone though another run was told to do it again", async () => {
    const stage = newStage();
    const mail = actor("send", () => ({}), { identity: ["to"], compensate: () => ({}) });
    const engine = await stage.open({ tools: [mail.tool] });
    const first = await engine.submit({ steps: [send] }, { principal: bot });
    await first.result();
    const again = await engine.submit({ steps: [send] }, { principal: bot });
    const [gate] = (await again.result()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: ana });
    await again.result();
    await engine.resolve(first.run_id, "send", { principal: ana, as: "undo" });
    expect((await first.finished()).steps.send).toMatchObject({ state: "compensated" });
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });

  it("a call that may be sent again is sent ever more patiently to a world that is down", async () => {
    const stage = newStage();
    const down = throws("NETWORK_TIMEOUT");
    const slow: Deed = (call) => {
      stage.clock.advance(5);
      return down(call);
    };
    const mail = actor("send", slow, { idempotent: { forMs: 60 * minute }, timeoutMs: 1000 });
    const engine = await stage.open({ tools: [mail.tool] });
    await engine.submit({ steps: [send] }, { principal: bot });
    for (let passed = 0; passed < 5; passed += 1) await stage.pass(minute);
    expect(mail.calls.length).toBeGreaterThan(5);
    expect(mail.calls.length).toBeLessThan(15);
  });

  it("what a person says is held against what they saw, though the run has moved on when it lands", async () => {
    const stage = newStage();
    const real = stage.store();
    const [sent, late] = [promised<void>(), promised<void>()];
    const append: Store["append"] = async (entries) => {
      sent.keep();
      await late.promise;
      return real.append(entries);
    };
    const tools = [actor("send", throws("NETWORK_TIMEOUT")).tool];
    const worker = await stage.open({ tools });
    const run = await worker.submit({ steps: [send] }, { principal: bot });
    await run.result();
    const door = await stage.open({ tools, work: false, store: { ...real, append } });
    const slow = faultOf(door.resolve(run.run_id, "send", { principal: ana, as: "absent", reason: "by post" }));
    await sent.promise;
    await worker.resolve(run.run_id, "send", { principal: ana, as: "absent" });
    await run.result();
    late.keep();
    expect((await slow).code).toBe("NOT_POSSIBLE");
    expect((await run.now()).steps.send).toMatchObject({ state: "in_doubt" });
  });

  it("an approval is used up for good, also by a call that does not act: no power cut gives it back", async () => {
    const stage = newStage();
    const real = stage.store();
    const synced: string[] = [];
    const append: Store["append"] = (entries) => {
      for (const { flush, events } of entries) if (flush === "hard") synced.push(...events.map(({ type }) => type));
      return real.append(entries);
    };
    const ask = actor("ask", () => 1, { effect: "reads" });
    const engine = await stage.open({ tools: [ask.tool], store: { ...real, append } });
    const plan = { steps: [{ step_id: "a", name: "ask", gate: "human_confirm" }] };
    const run = await engine.submit(plan, { principal: bot });
    const [gate] = (await run.result()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: ana });
    expect((await run.result()).status).toBe("completed");
    expect(synced).toContain("step.started");
  });

  it("a gate that is opened while another step ends the plan is opened, then closed", async () => {
    const stage = newStage();
    const engine = await stage.open({
      tools: [actor("look", () => 1, { effect: "reads" }).tool, actor("send", () => 1).tool],
    });
    const gated = { name: "look", gate: "human_confirm" };
    const steps = [{ step_id: "a", ...gated }, { step_id: "b", ...gated }, { step_id: "c", ...gated }, send];
    const run = await engine.submit({ steps }, { principal: bot, mode: "draft_only" });
    expect(await run.result()).toMatchObject({ status: "failed", gates: [] });
    expect(await eventsOf(run, "gate.closed")).toHaveLength(3);
  });
});

describe("a worker whose lease ran out while it was not looking", () => {
  it("lets a command through to whoever holds the run now", async () => {
    const stage = (places[0] as (typeof places)[number]).newStage();
    const tools = [actor("send", hang, { timeoutMs: 10 * minute }).tool];
    const old = await stage.open({ tools });
    const run = await old.submit({ steps: [send] }, { principal: bot });
    await stage.pass(100);
    stage.clock.advance(minute); // A machine asleep: nothing rings, and the lease runs out.
    const young = await stage.open({ tools, work: true });
    await stage.pass(0);
    await run.cancel({ reason: "enough" });
    const seen = await (await young.run(run.run_id, { principal: bot })).now();
    expect(seen.steps.send).toMatchObject({ state: "in_doubt" });
    expect(await eventsOf(run, "cancel.requested")).toHaveLength(1);
    expect((await faultOf(old.approve("gate_nowhere", { principal: ana }))).code).toBe("GATE_NOT_FOUND");
  });
});

describe("a store that fails while a timeout is to be recorded", () => {
  it("does not let the late error get ahead of it: errors mean nothing after a timeout", async () => {
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
    const aborted: Deed = ({ context: { signal } }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    const tool = actor("send", aborted, { errorsMean: "not_done", timeoutMs: 1000 }).tool;
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const engine = await createEngine({ store, timers, dice: () => 0.5, tools: [tool], tenants });
    const run = await engine.submit({ steps: [send] }, { principal: bot });
    await timers.pass(minute);
    expect((await run.now()).steps.send).toMatchObject({ state: "in_doubt" });
  });
});

describe("a store that fails while a timeout is to be recorded, and a late value comes before it is back", () => {
  it("gets both in order: what the call had cost until then is not lost", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const real = memoryStore({ clock });
    const answer = promised<object>();
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
    const costly: Deed = ({ context }) => {
      context.cost({ usd_micros: 5 });
      return answer.promise;
    };
    const tool = actor("send", costly, { timeoutMs: 1000 }).tool;
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const engine = await createEngine({ store, timers, dice: () => 0.5, tools: [tool], tenants });
    const run = await engine.submit({ steps: [send] }, { principal: bot });
    await timers.pass(minute);
    expect(await run.now()).toMatchObject({ status: "completed", spent: { usd_micros: 5 } });
  });
});

describe("a worker that slept longer than its lease", () => {
  it("keeps what it holds, though renewing fails at first", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const real = memoryStore({ clock });
    let failures = 1;
    const store: Store = {
      ...real,
      renew: async (claims) => {
        if (clock.now() > asleep && failures-- > 0) throw new FaultError(fault("STORE_FAILED", "not yet awake"));
        return real.renew(claims);
      },
    };
    const answer = promised<object>();
    const tool = actor("send", () => answer.promise, { timeoutMs: 10 * minute }).tool;
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const engine = await createEngine({ store, timers, dice: () => 0.5, tools: [tool], tenants });
    const run = await engine.submit({ steps: [send] }, { principal: bot });
    await timers.pass(1000);
    const asleep = clock.now();
    clock.advance(minute);
    await timers.pass(5000);
    answer.keep({});
    await timers.pass(1000);
    expect((await run.now()).status).toBe("completed");
    expect(await eventsOf(run, "step.doubted")).toEqual([]);
  });
});

describe("a command that is decided behind another", () => {
  it("is not answered before that has landed: it may be decided anew on what really came", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const real = memoryStore({ clock });
    const heard = promised<void>();
    let slow = false;
    const store: Store = {
      ...real,
      append: async (entries) => {
        const landings = await real.append(entries);
        if (slow && entries.some(({ events }) => events[0]?.type === "step.succeeded")) await heard.promise;
        return landings;
      },
    };
    const answer = promised<object>();
    const look = actor("look", () => answer.promise, { effect: "reads", timeoutMs: 10 * minute });
    const next = actor("next", () => ({}), { effect: "reads" });
    const tools = [look.tool, next.tool];
    const limits = { gateMs: minute };
    const worker = await createEngine({ store, timers, clock, dice: () => 0.5, tools, limits });
    const office = await createEngine({ store: real, timers, clock, dice: () => 0.5, tools, limits, work: false });
    const steps = [
      { step_id: "look", name: "look" },
      { step_id: "ask", name: "next", gate: "human_confirm", on_rejected: "stop" },
      { step_id: "next", name: "next", depends_on: ["look"] },
    ];
    const run = await worker.submit({ steps }, { principal: bot });
    await timers.pass(1000);
    const [gate] = (await run.now()).gates;
    slow = true;
    answer.keep({});
    await timers.pass(0);
    clock.advance(minute);
    // The office learns that the gate has expired, and so does the worker, each by itself.
    await expect(office.approve(gate?.gate_id ?? "", { principal: ana })).rejects.toThrow();
    await timers.pass(0);
    heard.keep();
    await timers.pass(minute);
    expect(await run.now()).toMatchObject({ status: "partial", final: true });
    expect(await eventsOf(run, "step.rejected")).toMatchObject([{ step_id: "next", fault: { code: "ABORTED" } }]);
  });
});

describe("a store that takes too long to let a call go", () => {
  it("is not followed by the call, which another worker could meanwhile hold for absent; it is tried anew", async () => {
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
    const mail = actor("send", () => ({}));
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const engine = await createEngine({ store, timers, dice: () => 0.5, tools: [mail.tool], tenants });
    const run = await engine.submit({ steps: [send] }, { principal: bot });
    await timers.pass(30_000);
    expect((await run.now()).status).toBe("completed");
    expect(mail.calls.map(({ context }) => context.attempt)).toEqual([2]);
  });
});

describe("a run that comes just as the one that asked for it is cancelled", () => {
  it("is cancelled, too: whoever brings the word found nobody, looked again, and there it was", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const real = memoryStore({ clock });
    const comes = promised<void>();
    const came = promised<void>();
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
    const slow = actor("slow", hang, { effect: "reads", timeoutMs: 10 * minute });
    const engine = await createEngine({ store, timers, dice: () => 0.5, tools: [slow.tool] });
    const below = { steps: [{ step_id: "s", name: "slow" }] };
    const steps = [{ step_id: "ask", kind: "run", payload: { plan: below } }];
    const run = await engine.submit({ steps }, { principal: bot });
    await timers.pass(0);
    await run.cancel({ reason: "not needed" });
    await timers.pass(minute);
    expect((await (await engine.run(child ?? "", { principal: bot })).now()).status).toBe("cancelled");
    expect((await run.now()).status).toBe("cancelled");
    await engine.close();
  });
});
