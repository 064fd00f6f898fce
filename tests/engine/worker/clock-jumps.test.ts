import { expect, it, onTestFinished } from "vitest";
import type { Instant } from "../../../src/core/values/ids.ts";
import { createEngine } from "../../../src/engine/engine.ts";
import { memoryStore } from "../../../src/store/memory/memory-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { manualTimers } from "../../../src/testing/manual-timers.ts";
import { botAgent } from "../engine-fixture.ts";
import { neverAnswers, scriptedTool, throwsFault } from "../scripted-tool.ts";

const hourMs = 3_600_000;

/** An engine whose wall clock can be set; its timers and its stopwatch do not notice. */
async function openWithJumps(tool: ReturnType<typeof scriptedTool>) {
  const machine = fakeClock();
  const timers = manualTimers(machine);
  let jump = 0;
  const clock = { now: () => (machine.now() + jump) as Instant };
  const engine = await createEngine({
    store: memoryStore({ clock }),
    timers,
    stopwatch: () => machine.now(),
    dice: () => 0.5,
    tools: [tool.tool],
    tenants: { acme: { mode: "auto_exec" } },
  });
  onTestFinished(() => engine.close());
  return {
    engine,
    pass: timers.pass,
    setClock: (ms: number) => {
      jump = ms;
    },
  };
}

it("a retry is made when the clock reaches its time by a jump, although its timer was set for an hour", async () => {
  const read = scriptedTool("read", [throwsFault("TOOL_TIMEOUT"), () => ({})], { effect: "reads" });
  const { engine, pass, setClock } = await openWithJumps(read);
  setClock(hourMs);
  await engine.submit({ steps: [{ step_id: "a", name: "read", payload: {} }] }, { principal: botAgent });
  await pass(100);
  expect(read.calls.length).toBe(1);
  setClock(0);
  await pass(60_000);
  expect(read.calls.length).toBe(1);
  setClock(2 * hourMs);
  await pass(5_000);
  expect(read.calls.length).toBe(2);
});

it("a handler that sends heartbeats is not aborted because the clock jumps by an hour", async () => {
  let beats = 0;
  const read = scriptedTool(
    "read",
    async ({ context }) => {
      for (; beats < 10; beats += 1) {
        context.heartbeat();
        await waitFor(500);
      }
      return { beats };
    },
    { effect: "reads", heartbeatMs: 2_000 },
  );
  const { engine, pass, setClock } = await openWithJumps(read);
  const waiting: { readonly at: number; readonly wake: () => void }[] = [];
  let passed = 0;
  const waitFor = (ms: number) => new Promise<void>((wake) => waiting.push({ at: passed + ms, wake }));
  const run = await engine.submit({ steps: [{ step_id: "a", name: "read", payload: {} }] }, { principal: botAgent });
  for (const jump of [0, hourMs, 0, -hourMs, 0, hourMs]) {
    setClock(jump);
    for (let turn = 0; turn < 2; turn += 1) {
      await pass(500);
      passed += 500;
      for (const { at, wake } of waiting.splice(0)) if (at <= passed) wake();
    }
  }
  await pass(100);
  expect((await run.now()).steps.a).toMatchObject({ state: "succeeded", output: { beats: 10 } });
});

it("a handler without heartbeats is aborted after its time, although the clock is set back", async () => {
  const read = scriptedTool("read", neverAnswers, { effect: "reads", heartbeatMs: 2_000, tries: 1 });
  const { engine, pass, setClock } = await openWithJumps(read);
  const run = await engine.submit({ steps: [{ step_id: "a", name: "read", payload: {} }] }, { principal: botAgent });
  await pass(500);
  setClock(-hourMs);
  await pass(3_000);
  expect((await run.now()).steps.a).toMatchObject({ fault: { code: "TOOL_TIMEOUT" } });
});
