import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Timers } from "../../../src/core/ports/clock.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { Sighting } from "../../../src/core/tool/tool.ts";
import type { Instant } from "../../../src/core/values/ids.ts";
import type { Engine, RunHandle } from "../../../src/engine/api/engine-api.ts";
import { createEngine } from "../../../src/engine/engine.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { manualTimers } from "../../../src/testing/manual-timers.ts";
import { botAgent } from "../engine-fixture.ts";
import { deferred, scriptedTool } from "../scripted-tool.ts";

const stallMs = 60_000;
const hourMs = 3_600_000;

/** How long a call can be in transit after its worker was last alive: until it is made, its timeout and its delay. */
const inTransitMs = 10_000 + 20_000 + 5_000;

/** Two processes on one file. The first one can be stopped, and all see the same clock, which can be set. */
async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "writ-sender-"));
  const file = join(folder, "writ.db");
  const machine = fakeClock();
  const all = manualTimers(machine);
  let jump = 0;
  const clock = { now: () => (machine.now() + jump) as Instant };
  const stopwatch = () => machine.now();
  const sent: string[] = [];
  const asked: string[] = [];
  const stopped = deferred<boolean>();
  const verify = (): Sighting => {
    asked.push("verify");
    return sent.length === 0 ? { saw: "absent" } : { saw: "happened", output: sent[0] as string };
  };
  const act = (name: string, delay: Promise<boolean>) =>
    scriptedTool(
      "act",
      async () => {
        if (await delay) sent.push(name);
        return name;
      },
      { verify, timeoutMs: 20_000, settleAfter: 5_000 },
    );
  const first = act("first", stopped.promise);
  const second = act("second", Promise.resolve(true));
  const openStore = (timers: Timers) => openSqlite(file, { clock, timers, stopwatch, stallMs, dice: () => 0.5 });
  const open = async (tool: typeof first, timers: Timers, store: Store): Promise<Engine> => {
    const options = { tools: [tool.tool], tenants: { acme: { mode: "auto_exec" } }, dice: () => 0.5 } as const;
    return createEngine({ store, timers, stopwatch, ...options });
  };
  const firstTimers = stoppableTimers(all);
  const senderStore = openStore(firstTimers.timers);
  const sender = await open(first, firstTimers.timers, senderStore);
  const run = await sender.submit({ steps: [{ step_id: "a", name: "act", payload: {} }] }, { principal: botAgent });
  await all.pass(1000);
  expect(first.calls.length).toBe(1);
  const observer = await open(second, all, openStore(all));
  onTestFinished(async () => {
    firstTimers.stop();
    await senderStore.close();
    const closed = observer.close();
    await all.pass(1000);
    await closed;
    rmSync(folder, { recursive: true });
  });
  const seen = await observer.run(run.run_id, { principal: botAgent });
  return {
    seen,
    sent,
    asked,
    second,
    pass: all.pass,
    jump: (ms: number) => {
      jump = ms;
    },
    /** Stops the first process inside its tool, until the second one has evicted it and taken its run. */
    stopSender: async () => {
      firstTimers.stop();
      await all.pass(stallMs + 3000);
    },
    /** `acts`: its call arrives; else it gets lost. */
    continueSender: async (acts = true) => {
      firstTimers.continue();
      stopped.keep(acts);
      await all.pass(10_000);
    },
    /** Ends the process: only its store and its lock are closed. */
    killSender: () => senderStore.close(),
  };
}

/** Timers that fire late: those that are due while the process is stopped fire when it continues. */
function stoppableTimers(all: Timers) {
  let isStopped = false;
  const late: (() => void)[] = [];
  const after = (ms: number, work: () => void) => all.after(ms, () => (isStopped ? void late.push(work) : work()));
  return {
    timers: { after },
    stop: () => {
      isStopped = true;
    },
    continue: () => {
      isStopped = false;
      for (const work of late.splice(0)) work();
    },
  };
}

const stateOf = async (run: RunHandle) => (await run.now()).steps.a?.state;

describe("an act whose process is stopped inside its tool", () => {
  it("is not repeated, however often its verifier finds it absent and although the clock jumps by an hour", async () => {
    const { seen, sent, asked, second, pass, jump, stopSender, continueSender } = await setUp();
    await stopSender();
    expect(await stateOf(seen)).toBe("in_doubt");
    jump(hourMs);
    await pass(10 * 60_000);
    expect(asked.length).toBeGreaterThan(3);
    expect([await stateOf(seen), sent, second.calls.length]).toEqual(["in_doubt", [], 0]);
    await continueSender();
    expect([await stateOf(seen), sent]).toEqual(["succeeded", ["first"]]);
    await pass(60_000);
    expect(sent).toEqual(["first"]);
  });

  it("is looked at again as soon as its handler has returned without it", async () => {
    const { seen, sent, pass, stopSender, continueSender } = await setUp();
    await stopSender();
    await continueSender(false);
    await pass(inTransitMs + 5000);
    expect([await stateOf(seen), sent]).toEqual(["succeeded", ["second"]]);
  });

  it("runs again once its process has ended and its call can no longer arrive, whatever the clock says", async () => {
    const { seen, sent, pass, jump, stopSender, killSender } = await setUp();
    await stopSender();
    await killSender();
    await pass(5_000);
    jump(hourMs);
    await pass(15_000);
    expect([await stateOf(seen), sent]).toEqual(["in_doubt", []]);
    await pass(6 * 60_000);
    expect([await stateOf(seen), sent]).toEqual(["succeeded", ["second"]]);
  });

  it("is settled as early if the clock was an hour ahead while its next check was planned", async () => {
    const { seen, sent, pass, jump, stopSender, killSender } = await setUp();
    jump(hourMs);
    await stopSender();
    await killSender();
    await pass(2_000);
    jump(0);
    await pass(inTransitMs + 10_000);
    expect([await stateOf(seen), sent]).toEqual(["succeeded", ["second"]]);
  });
});
