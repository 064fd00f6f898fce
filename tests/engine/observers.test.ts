import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, it } from "vitest";
import type { AppendedEvent, CallEnd, ObservedCall, Observer } from "../../src/engine/api/observer.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { reads } from "./open-run-fixture.ts";
import { chat, chatAnswer, user } from "./scripted-model.ts";
import { collectJournal, neverAnswers, scriptedTool, throwsFault } from "./scripted-tool.ts";

const plan = (...names: readonly string[]) => ({
  steps: names.map((name, at) => ({ step_id: `s${at}`, name, payload: { n: at } })),
});

describe.each(storeKinds)("observer, on $name", ({ newFixture }) => {
  it("sees every event of a run once, in order, with its position", async () => {
    const fixture = newFixture();
    const seen: AppendedEvent[] = [];
    const send = scriptedTool("send", () => ({ sent: true }));
    const read = scriptedTool("read", () => ({ text: "hello" }), { effect: "reads" });
    const engine = await fixture.open({
      tools: [send.tool, read.tool],
      observers: [{ name: "log", onEvent: (appended) => seen.push(appended) }],
    });
    const run = await engine.submit(plan("read", "send", "read"), { principal: botAgent });
    await run.result();
    const journal = await collectJournal(run);
    expect(seen.map(({ event }) => event)).toEqual(journal);
    expect(seen.map(({ position }) => position)).toEqual(journal.map((_, at) => at + 1));
    expect(new Set(seen.map(({ run_id, tenant }) => `${tenant} ${run_id}`))).toEqual(new Set([`acme ${run.run_id}`]));
    expect(seen.at(-1)).toMatchObject({ event: { type: "run.ended" }, durable: true });
  });

  it.each(["plan", "session"] as const)("is told no fact of a %s that is not on record", async (what) => {
    const fixture = newFixture();
    const real = fixture.store();
    const landed = new Map<string, number>();
    const append: typeof real.append = async (entries, ...more) => {
      const results = await real.append(entries, ...more);
      for (const [index, { run, events }] of entries.entries())
        if (results[index]?.landed) landed.set(run, (landed.get(run) ?? 0) + events.length);
      return results;
    };
    const told: number[] = [];
    const early: number[] = [];
    const observer: Observer = {
      name: "early",
      onEvent: ({ run_id, position }) => {
        told.push(position);
        if (position > (landed.get(run_id) ?? 0)) early.push(position);
      },
    };
    const tools = ["read", "send"].map((name) => scriptedTool(name, () => ({}), name === "read" ? reads : {}).tool);
    const engine = await fixture.open({ store: { ...real, append }, tools, observers: [observer] });
    if (what === "plan") {
      const run = await engine.submit(plan("read", "read", "read", "send", "read"), { principal: botAgent });
      await run.result();
    } else {
      const run = await engine.openRun({ session: "chat", principal: botAgent });
      const use = { id: "1", tool: "send", input: {} };
      await run.recordModelCall(chat(user("go")), () => chatAnswer(null, use));
      await run.callTool(use);
      await run.recordModelCall(chat(user("stop")), () => chatAnswer("stopped"));
      await run.close();
    }
    expect(early).toEqual([]);
    expect(told).toEqual(Array.from(told, (_, index) => index + 1));
    expect(told.length).toBe([...landed.values()][0]);
  });

  it("sees an approval that this process appends to a run", async () => {
    const fixture = newFixture();
    const types: string[] = [];
    const send = scriptedTool("send", () => ({ sent: true }));
    const engine = await fixture.open({
      tools: [send.tool],
      tenants: {},
      observers: [{ name: "log", onEvent: ({ event }) => types.push(event.type) }],
    });
    const run = await engine.submit(plan("send"), { principal: botAgent });
    const { gates } = await run.result();
    await engine.approve(gates[0]?.gate_id ?? "", { principal: anaPerson });
    await run.result();
    expect(types).toEqual((await collectJournal(run)).map(({ type }) => type));
    expect(types).toContain("gate.approved");
  });

  it("surrounds each attempt with its call and its end", async () => {
    const fixture = newFixture();
    const calls: { call: ObservedCall; end: CallEnd }[] = [];
    const send = scriptedTool("send", [throwsFault("TOOL_FAILED"), () => ({ sent: true })], { errorsMean: "not_done" });
    const engine = await fixture.open({
      tools: [send.tool],
      observers: [
        {
          name: "log",
          aroundCall: async (call, start) => {
            calls.push({ call, end: await start() });
          },
        },
      ],
    });
    await engine.call("send", { to: "ana" }, { principal: botAgent, session: "chat", traceId: "t-1" });
    await engine.call("send", { to: "ben" }, { principal: botAgent });
    expect(calls).toMatchObject([
      {
        call: { tool: "send", effect: "acts", attempt: 1, input: { to: "ana" }, session: "chat", trace_id: "t-1" },
        end: { status: "failed", fault: { code: "TOOL_FAILED" } },
      },
      {
        call: { input: { to: "ben" }, key: expect.stringMatching(/./), gate_id: null, principal: "bot" },
        end: { status: "succeeded", output: { sent: true }, fault: null },
      },
    ]);
  });

  it("sees that the outcome of a call that timed out is unknown", async () => {
    const fixture = newFixture();
    const ends: CallEnd[] = [];
    const send = scriptedTool("send", neverAnswers, { timeoutMs: 1000 });
    const engine = await fixture.open({
      tools: [send.tool],
      observers: [{ name: "log", aroundCall: async (_, start) => void ends.push(await start()) }],
    });
    const run = await engine.submit(plan("send"), { principal: botAgent });
    await fixture.runUntilIdle(run);
    expect(ends).toMatchObject([{ status: "unknown", fault: { code: "TOOL_TIMEOUT" } }]);
  });

  it("runs the handler in its async context, the first observer outermost", async () => {
    const fixture = newFixture();
    const storage = new AsyncLocalStorage<string>();
    const observer = (name: string): Observer => ({
      name,
      aroundCall: (_, start) => storage.run(`${storage.getStore() ?? ""}/${name}`, async () => void (await start())),
    });
    const read = scriptedTool("read", () => ({ context: storage.getStore() ?? null }), { effect: "reads" });
    const engine = await fixture.open({ tools: [read.tool], observers: [observer("outer"), observer("inner")] });
    expect(await engine.call("read", {}, { principal: botAgent })).toMatchObject({
      step: { output: { context: "/outer/inner" } },
    });
  });

  it.each<readonly [string, Partial<Observer>]>([
    ["throws", { onEvent: fail, aroundCall: fail }],
    ["rejects", { aroundCall: async () => fail() }],
    ["rejects after the call", { aroundCall: async (_, start) => void (await start().then(fail)) }],
    ["never starts the handler", { aroundCall: () => {} }],
    ["never ends", { aroundCall: () => new Promise(() => {}) }],
    ["starts the handler twice", { aroundCall: (_, start) => void [start(), start()] }],
  ])("changes nothing if it %s", async (_, functions) => {
    const fixture = newFixture();
    const ends: string[] = [];
    const send = scriptedTool("send", () => ({ sent: true }));
    const after: Observer = { name: "after", aroundCall: async (_, start) => void ends.push((await start()).status) };
    const engine = await fixture.open({ tools: [send.tool], observers: [{ name: "bad", ...functions }, after] });
    const run = await engine.submit(plan("send"), { principal: botAgent });
    expect(await run.result()).toMatchObject({ status: "completed", steps: { s0: { output: { sent: true } } } });
    expect([send.calls.length, ends]).toEqual([1, ["succeeded"]]);
    expect(engine.observers()[1]).toEqual({ name: "after", errors: 0, latest: null });
  });

  it("has its errors counted", async () => {
    const fixture = newFixture();
    const read = scriptedTool("read", () => ({}), { effect: "reads" });
    const engine = await fixture.open({ tools: [read.tool], observers: [{ name: "bad", onEvent: fail }] });
    const run = await engine.submit(plan("read"), { principal: botAgent });
    await run.result();
    const events = await collectJournal(run);
    expect(engine.observers()).toEqual([{ name: "bad", errors: events.length, latest: "it is broken" }]);
  });

  it("is refused if it is no observer", async () => {
    const fixture = newFixture();
    for (const observer of [{ name: "x" }, { onEvent: fail }, { name: "x", onEvent: 1 }, null])
      await expect(fixture.open({ tools: [], observers: [observer as never] })).rejects.toMatchObject({
        fault: { code: "CONFIG_INVALID", message: expect.stringContaining("observers must be a list") },
      });
  });
});

function fail(): never {
  throw new Error("it is broken");
}
