import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import type { Event } from "../../src/core/event/event.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  collectJournal,
  deferred,
  neverAnswers,
  rejectedFault,
  scriptedTool,
  throwsFault,
} from "./scripted-tool.ts";

const one = (name: string, more: object = {}) => ({ steps: [{ step_id: "a", name, ...more }] });

describe.each(storeKinds)("cost of work, on $name", ({ newFixture: newStage }) => {
  it("is recorded with each attempt, failed ones too, and summed for the run", async () => {
    const stage = newStage();
    const spend = (usd_micros: number) => ({ usd_micros, credits: 1, tokens_in: 10, tokens_out: 20, model: "m-1" });
    const ask = scriptedTool(
      "ask",
      [
        ({ context }) => {
          context.cost(spend(5));
          return throwsFault("RATE_LIMIT")({ input: {}, context });
        },
        ({ context }) => {
          context.cost(spend(3));
          context.cost({ usd_micros: 4 });
          return { ok: true };
        },
      ],
      { effect: "reads" },
    );
    const engine = await stage.open({ tools: [ask.tool] });
    const run = await engine.submit(one("ask"), { principal: botAgent });
    const result = await stage.runUntilIdle(run);
    const total = { usd_micros: 12, credits: 2, tokens_in: 20, tokens_out: 40, attempts: 2 };
    expect(result.spent).toEqual(total);
    expect(await engine.cost(run.run_id, { principal: botAgent })).toEqual({
      run_id: run.run_id,
      spent: total,
      attempts: [
        { step_id: "a", attempt: 1, at: expect.any(Number), cost: spend(5) },
        { step_id: "a", attempt: 2, at: expect.any(Number), cost: { ...spend(7) } },
      ],
    });
  });

  it("is summed per principal and day, and per project, tenant and month, in UTC", async () => {
    const stage = newStage();
    const ask = scriptedTool("ask", ({ context }) => context.cost({ usd_micros: 10, credits: 1 }) ?? 1, {
      effect: "reads",
    });
    const engine = await stage.open({ tools: [ask.tool] });
    const spent = (period: string, by?: string) =>
      engine.spent({ principal: anaPerson, period, ...(by !== undefined && { by }) });
    const lastMinute = Date.UTC(2023, 10, 30, 23, 59);
    stage.clock.advance(lastMinute - stage.clock.now());
    await (await engine.submit(one("ask"), { principal: botAgent })).result();
    await (await engine.submit(one("ask"), { principal: { ...botAgent, id: "bot2" } })).result();
    stage.clock.advance(60_000);
    await (await engine.submit(one("ask"), { principal: botAgent })).result();
    expect(await spent("2023-11-30", "bot")).toEqual({
      period: "2023-11-30",
      usd_micros: 10,
      credits: 1,
      tokens_in: 0,
      tokens_out: 0,
    });
    expect(await spent("2023-11-30", "bot2")).toMatchObject({ usd_micros: 10 });
    expect(await spent("2023-12-01", "bot")).toMatchObject({ usd_micros: 10 });
    expect(await spent("2023-11")).toMatchObject({ usd_micros: 20 });
    expect(await spent("2023-12")).toMatchObject({ usd_micros: 10 });
    const project = "site";
    await (await engine.submit(one("ask"), { principal: botAgent, project })).result();
    expect(await engine.spent({ principal: anaPerson, period: "2023-12", project })).toMatchObject({ usd_micros: 10 });
    expect(await engine.spent({ principal: anaPerson, period: "2023-11", project })).toMatchObject({ usd_micros: 0 });
    expect(await rejectedFault(engine.spent({ principal: anaPerson, period: "2023-12-01", project }))).toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(
      await rejectedFault(engine.spent({ principal: botAgent, period: "2023-12-01", project, by: "bot" })),
    ).toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(await engine.spent({ principal: { ...anaPerson, tenant: "globex" }, period: "2023-11" })).toMatchObject({
      usd_micros: 0,
    });
  });

  it("is counted once when the output of an act comes late", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const send = scriptedTool(
      "send",
      async ({ context }) => {
        context.cost({ usd_micros: 5 });
        await answer.promise;
        context.cost({ usd_micros: 2 });
        return { id: 1 };
      },
      { timeoutMs: 1000 },
    );
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send"), { principal: botAgent });
    expect((await stage.runUntilIdle(run)).spent).toMatchObject({ usd_micros: 5, attempts: 1 });
    answer.keep({});
    expect((await run.finished()).spent).toMatchObject({ usd_micros: 7, attempts: 1 });
    expect(await engine.spent({ principal: anaPerson, period: "2023-11" })).toMatchObject({ usd_micros: 7 });
  });

  it.each([1.5, -1, Number.NaN, 2 ** 60, null as unknown as number])(
    "is a whole number: %s fails the call",
    async (usd_micros) => {
      const ask = scriptedTool("ask", ({ context }) => context.cost({ usd_micros }) ?? 1, { effect: "reads" });
      const engine = await newStage().open({ tools: [ask.tool] });
      const run = await engine.submit(one("ask"), { principal: botAgent });
      expect((await run.result()).steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
    },
  );

  it("survives failure, cancel and undo of the run", async () => {
    const stage = newStage();
    const send = scriptedTool("send", ({ context }) => context.cost({ usd_micros: 5 }) ?? { id: 1 }, {
      compensate: async (_, context) => context.cost({ usd_micros: 3 }),
    });
    const slow = scriptedTool(
      "slow",
      ({ context }) => {
        context.cost({ usd_micros: 2 });
        return neverAnswers({ input: {}, context });
      },
      { effect: "reads" },
    );
    const engine = await stage.open({ tools: [send.tool, slow.tool] });
    const run = await engine.submit(
      {
        steps: [
          { step_id: "send", name: "send" },
          { step_id: "slow", name: "slow", depends_on: ["send"] },
        ],
      },
      { principal: botAgent },
    );
    await stage.advance(0);
    await run.cancel();
    expect((await run.result()).spent).toMatchObject({ usd_micros: 7 });
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    expect((await run.result()).spent).toMatchObject({ usd_micros: 10 });
    expect(await engine.spent({ principal: anaPerson, period: "2023-11" })).toMatchObject({ usd_micros: 10 });
  });

  it("is queried by a day or a month, and nothing else", async () => {
    const engine = await newStage().open({ tools: [] });
    for (const period of ["2023", "yesterday", "2023-13-45x", "2023-00", "2023-13", ""])
      expect((await rejectedFault(engine.spent({ principal: anaPerson, period }))).code).toBe("INVALID_INPUT");
    for (const period of ["2023-02-29", "2023-04-31", "2023-13-01"])
      expect((await rejectedFault(engine.spent({ principal: botAgent, period, by: "bot" }))).message).toMatch(
        /is not a date/,
      );
    expect(await engine.spent({ principal: anaPerson, period: "2024-02-29", by: "bot" })).toMatchObject({
      usd_micros: 0,
    });
  });
});

describe.each(storeKinds)("secret fields, on $name", ({ newFixture: newStage }) => {
  const secret = "hunter2-hunter2";
  const output = {
    type: "object",
    properties: { user: { type: "string" }, token: { type: "string" } },
    required: ["token"],
  };
  const login = (
    deed: Parameters<typeof scriptedTool>[1] = () => ({ user: "ana", token: secret }),
    more: object = {},
  ) => scriptedTool("login", deed, { output, redact: ["token"], ...more });

  it("are nowhere in the store: a digest replaces them", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [login().tool] });
    const run = await engine.submit(one("login"), { principal: botAgent });
    const result = await run.result();
    expect(result.steps.a).toMatchObject({
      output: { user: "ana", token: { redacted: expect.stringMatching(/^[0-9a-f]{64}$/) } },
    });
    expect(JSON.stringify(await stage.dump()).includes(secret)).toBe(false);
  });

  it.each<[string, Parameters<typeof login>[0], object]>([
    [
      "a verifier has seen",
      throwsFault("NETWORK_TIMEOUT"),
      { verify: async () => ({ saw: "happened", output: { token: secret } }) },
    ],
    ["does not fit", () => ({ user: 7, token: secret }), {}],
  ])("are nowhere in the store when %s", async (_, deed, more) => {
    const stage = newStage();
    const engine = await stage.open({ tools: [login(deed, more).tool] });
    await (await engine.submit(one("login"), { principal: botAgent })).result();
    expect(JSON.stringify(await stage.dump()).includes(secret)).toBe(false);
  });

  it("are nowhere in the store when a person supplied them or they came late", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const engine = await stage.open({ tools: [login(() => answer.promise, { timeoutMs: 500 }).tool] });
    const run = await engine.submit(one("login"), { principal: botAgent });
    await stage.runUntilIdle(run);
    await engine.resolve(run.run_id, "a", {
      principal: anaPerson,
      as: "happened",
      output: { user: "ana", token: secret },
    });
    expect((await run.result()).status).toBe("completed");
    answer.keep({ user: "ana", token: secret });
    await stage.advance(0);
    expect(await collectEvents(run, "evidence.kept")).toHaveLength(1);
    expect(JSON.stringify(await stage.dump()).includes(secret)).toBe(false);
  });

  it("cannot be bound, not even inside a larger value", async () => {
    const engine = await newStage().open({ tools: [login().tool] });
    for (const path of ["/token", ""]) {
      const steps = [
        { step_id: "a", name: "login" },
        { step_id: "b", name: "login", bindings: { "/x": { step: "a", path } } },
      ];
      expect((await rejectedFault(engine.submit({ steps }, { principal: botAgent }))).code).toBe("PLAN_INVALID");
    }
  });
});

describe.each(storeKinds)("large value, on $name", ({ newFixture: newStage }) => {
  const large = (seed: string) => ({ text: seed.repeat(40_000), umlaut: "é".repeat(40_000) });

  it("is stored beside the journal by its digest, and is read back after a restart", async () => {
    const stage = newStage();
    const make = scriptedTool("make", () => large("abcdef"), { effect: "reads" });
    const take = scriptedTool("take", ({ input }) => ({ bytes: JSON.stringify(input).length }));
    const tools = [make.tool, take.tool];
    const first = await stage.open({ tools });
    const steps = [
      { step_id: "make", name: "make", payload: large("xyz") },
      { step_id: "take", name: "take", bindings: { "/all": { step: "make", path: "" } } },
    ];
    const { run_id } = await first.submit({ steps }, { principal: botAgent });
    await (await first.run(run_id, { principal: botAgent })).result();
    await stage.crash();
    const second = await stage.open({ tools });
    const run = await second.run(run_id, { principal: botAgent });
    const result = await run.result();
    expect(result.steps.make).toEqual({ state: "succeeded", output: large("abcdef") });
    expect(result.status).toBe("completed");
    expect(take.calls[0]?.input).toEqual({ all: large("abcdef") });
    expect((await second.audit({ principal: anaPerson })).broken).toEqual([]);
    const store = stage.store();
    const bodies = (await store.events("acme" as never, run_id, 0)).map(({ body }) => body?.length ?? 0);
    expect(Math.max(...bodies)).toBeLessThan(65 * 1024);
  });
});

describe.each(storeKinds)("request ids, on $name", ({ newFixture: newStage }) => {
  it("reach every tool and are in the journal", async () => {
    const send = scriptedTool("send", () => ({ id: 1 }));
    const look = scriptedTool("look", () => 1, { effect: "reads" });
    const engine = await newStage().open({ tools: [send.tool, look.tool] });
    const run = await engine.submit(
      {
        plan_id: "plan-1",
        steps: [
          { step_id: "look", name: "look" },
          { step_id: "send", name: "send" },
        ],
      },
      { principal: botAgent, traceId: "00-4bf92f3577b34da6a3ce929d0e0e4736", correlationId: "req-7" },
    );
    await run.result();
    for (const { calls } of [send, look])
      expect(calls[0]?.context).toMatchObject({
        run_id: run.run_id,
        plan_id: "plan-1",
        attempt: 1,
        trace_id: "00-4bf92f3577b34da6a3ce929d0e0e4736",
        correlation_id: "req-7",
      });
    expect(await collectEvents(run, "run.accepted")).toMatchObject([
      { trace_id: "00-4bf92f3577b34da6a3ce929d0e0e4736", correlation_id: "req-7" },
    ]);
  });

  it("default to the run's own id", async () => {
    const look = scriptedTool("look", () => 1, { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    await run.result();
    expect(look.calls[0]?.context).toMatchObject({ trace_id: run.run_id, correlation_id: run.run_id, plan_id: null });
  });
});

describe.each(storeKinds)("following a run, on $name", ({ newFixture: newStage }) => {
  const cast = () => {
    const send = scriptedTool("send", () => ({ id: 1 }));
    return { send, steps: [{ step_id: "send", name: "send" }] };
  };

  it("yields every event in order until the run has ended", async () => {
    const { send, steps } = cast();
    const engine = await newStage().open({ tools: [send.tool], tenants: {} });
    const run = await engine.submit({ steps }, { principal: botAgent });
    const seen: Event["type"][] = [];
    const following = (async () => {
      for await (const { event, position } of run.events({ follow: true })) {
        seen.push(event.type);
        expect(position).toBe(seen.length);
      }
    })();
    const [gate] = (await run.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    await following;
    expect(seen).toEqual([
      "run.accepted",
      "gate.opened",
      "gate.approved",
      "step.started",
      "step.succeeded",
      "run.ended",
    ]);
    expect((await collectJournal(run)).map(({ type }) => type)).toEqual(seen);
  });

  it("starts after the last seen event, and ends at once when no more can come", async () => {
    const { send, steps } = cast();
    const engine = await newStage().open({ tools: [send.tool] });
    const run = await engine.submit({ steps }, { principal: botAgent });
    await run.result();
    const read = async (after: number) => {
      const positions: number[] = [];
      for await (const { position } of run.events({ follow: true, after })) positions.push(position);
      return positions;
    };
    expect(await read(2)).toEqual([3, 4]);
    expect(await read(4)).toEqual([]);
    expect(await read(400)).toEqual([]);
  });

  it("keeps at most one listener on the signal of a reader, however long the run is, and none after it", async () => {
    const stage = newStage();
    const work = scriptedTool("work", () => ({}), { effect: "reads" });
    const engine = await stage.open({ tools: [work.tool] });
    const steps = Array.from({ length: 30 }, (_, at) => ({
      step_id: `s${at}`,
      name: "work",
      depends_on: at === 0 ? [] : [`s${at - 1}`],
    }));
    const run = await engine.submit({ steps }, { principal: botAgent });
    const reading = new AbortController();
    let most = 0;
    for await (const _ of run.events({ follow: true, signal: reading.signal }))
      most = Math.max(most, getEventListeners(reading.signal, "abort").length);
    expect(most).toBeLessThanOrEqual(1);
    expect(getEventListeners(reading.signal, "abort")).toEqual([]);
  });

  it("stops when the reader does", async () => {
    const { send, steps } = cast();
    const engine = await newStage().open({ tools: [send.tool], tenants: {} });
    const run = await engine.submit({ steps }, { principal: botAgent });
    await run.result();
    const leaving = new AbortController();
    const seen: string[] = [];
    for await (const { event } of run.events({ follow: true, signal: leaving.signal })) {
      seen.push(event.type);
      if (event.type === "gate.opened") leaving.abort();
    }
    expect(seen).toEqual(["run.accepted", "gate.opened"]);
  });

  it("yields events of another process", async () => {
    const stage = newStage();
    const { send, steps } = cast();
    const worker = await stage.open({ tools: [send.tool], tenants: {} });
    const run = await worker.submit({ steps }, { principal: botAgent });
    const [gate] = (await run.result()).gates;
    const viewer = await stage.open({ tools: [], work: false });
    const seen: string[] = [];
    const following = (async () => {
      for await (const { event } of (await viewer.run(run.run_id, { principal: anaPerson })).events({ follow: true }))
        seen.push(event.type);
    })();
    await worker.approve(gate?.gate_id as string, { principal: anaPerson });
    await stage.advance(3000);
    await following;
    expect(seen.at(-1)).toBe("run.ended");
  });
});
