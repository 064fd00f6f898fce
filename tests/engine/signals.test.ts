import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const paid = { kind: "wait", payload: { signal: "invoice-42-paid" } };
const waiting = { steps: [{ step_id: "paid", ...paid }] };
const settled = { state: "succeeded", output: { signal: { amount: 100 }, by: "ana", sent_at: expect.any(Number) } };

describe.each(storeKinds)("signal, on $name", ({ newFixture: newStage }) => {
  it("ends its wait, and later steps use its data", async () => {
    const ship = scriptedTool("ship", ({ input }) => input, { effect: "reads" });
    const stage = newStage();
    const engine = await stage.open({ tools: [ship.tool] });
    const bindings = { "/amount": { step: "paid", path: "/signal/amount" } };
    const steps = [...waiting.steps, { step_id: "ship", name: "ship", payload: {}, bindings }];
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      final: false,
      next: "send the signal invoice-42-paid that paid waits for",
      blocked_on: [{ step_id: "paid", reason_code: "WAITING_FOR_SIGNAL", signal: "invoice-42-paid" }],
    });
    expect(await engine.signal("invoice-42-paid", { amount: 100 }, { principal: anaPerson })).toBe("delivered");
    expect((await stage.runUntilIdle(run)).steps).toMatchObject({ paid: settled, ship: { output: { amount: 100 } } });
  });

  it("that comes early is kept for the first wait, in order of arrival", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    expect(await engine.signal("invoice-42-paid", 1, { principal: anaPerson })).toBe("kept");
    expect(await engine.signal("invoice-42-paid", 2, { principal: anaPerson })).toBe("kept");
    await stage.crash();
    const next = await stage.open({ tools: [] });
    const said: unknown[] = [];
    for (let at = 0; at < 3; at += 1) {
      const run = await next.submit(waiting, { principal: botAgent });
      const { steps } = await stage.runUntilIdle(run);
      said.push(steps.paid?.state === "succeeded" ? (steps.paid.output as { signal: unknown }).signal : "waits");
    }
    expect(said).toEqual([1, 2, "waits"]);
    expect(await next.signal("invoice-42-paid", 3, { principal: anaPerson })).toBe("delivered");
  });

  it("goes to the step that has waited longest", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const runs = [];
    for (let at = 0; at < 3; at += 1) {
      runs.push(await engine.submit(waiting, { principal: botAgent }));
      await stage.advance(100);
    }
    await engine.signal("invoice-42-paid", null, { principal: anaPerson });
    await stage.advance(1000);
    const states = await Promise.all(runs.map(async (run) => (await run.now()).status));
    expect(states).toEqual(["completed", "partial", "partial"]);
  });

  it("skips a step that has continued without it", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const gone = await engine.submit(waiting, { principal: botAgent });
    await stage.runUntilIdle(gone);
    await gone.cancel();
    const left = await engine.submit(waiting, { principal: botAgent });
    await stage.runUntilIdle(left);
    await engine.signal("invoice-42-paid", { amount: 100 }, { principal: anaPerson });
    expect((await stage.runUntilIdle(left)).steps.paid).toMatchObject(settled);
    expect((await gone.now()).status).toBe("cancelled");
  });

  it("sent again under its id is sent once, with or without a waiting step", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const once = { principal: anaPerson, id: "evt-1" };
    expect(await engine.signal("invoice-42-paid", { amount: 100 }, once)).toBe("kept");
    expect(await engine.signal("invoice-42-paid", { amount: 100 }, once)).toBe("duplicate");
    const run = await engine.submit(waiting, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    const more = await engine.submit(waiting, { principal: botAgent });
    await stage.runUntilIdle(more);
    expect(await engine.signal("invoice-42-paid", { amount: 100 }, once)).toBe("duplicate");
    expect((await more.now()).final).toBe(false);
    const fault = await rejectedFault(engine.signal("invoice-42-paid", { amount: 7 }, once));
    expect(fault.code).toBe("REQUEST_KEY_REUSED");
    const twice = { principal: anaPerson, id: "evt-2" };
    await Promise.all([1, 2, 3].map(() => engine.signal("invoice-42-paid", { amount: 100 }, twice)));
    expect((await stage.runUntilIdle(more)).status).toBe("completed");
    const last = await engine.submit(waiting, { principal: botAgent });
    expect((await stage.runUntilIdle(last)).final).toBe(false);
  });

  it("that misses its time is not waited for and is kept", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const steps = [{ step_id: "paid", kind: "wait", payload: { signal: "invoice-42-paid", ms: 60_000 } }];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.advance(61_000);
    const { status, steps: ended } = await run.now();
    expect([status, ended.paid]).toEqual([
      "completed",
      { state: "succeeded", output: { signal: null, waited_until: expect.any(Number) } },
    ]);
    expect(await engine.signal("invoice-42-paid", null, { principal: anaPerson })).toBe("kept");
  });

  it("can be named by the output of an earlier step", async () => {
    const ask = scriptedTool("ask", () => ({ ticket: "T-7" }), { effect: "reads" });
    const stage = newStage();
    const engine = await stage.open({ tools: [ask.tool] });
    const bindings = { "/signal": { step: "ask", path: "/ticket" } };
    const steps = [
      { step_id: "ask", name: "ask", payload: {} },
      { step_id: "answered", kind: "wait", payload: {}, bindings },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.runUntilIdle(run);
    expect(await engine.signal("T-7", "yes", { principal: anaPerson })).toBe("delivered");
    expect((await stage.runUntilIdle(run)).steps.answered).toMatchObject({ output: { signal: "yes" } });
  });

  it("of one tenant does not reach another", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const run = await engine.submit(waiting, { principal: botAgent });
    await stage.runUntilIdle(run);
    expect(await engine.signal("invoice-42-paid", null, { principal: { ...anaPerson, tenant: "umbrella" } })).toBe(
      "kept",
    );
    expect((await run.now()).final).toBe(false);
  });

  it("reaches one of many steps that start to wait during the send", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const [first, , second, , , third] = await Promise.all([
      engine.submit(waiting, { principal: botAgent }),
      engine.signal("invoice-42-paid", 1, { principal: anaPerson }),
      engine.submit(waiting, { principal: botAgent }),
      engine.signal("invoice-42-paid", 2, { principal: anaPerson }),
      engine.signal("invoice-42-paid", 3, { principal: anaPerson }),
      engine.submit(waiting, { principal: botAgent }),
    ]);
    const said = [];
    for (const run of [first, second, third]) {
      const { paid: end } = (await stage.runUntilIdle(run)).steps;
      said.push(end?.state === "succeeded" && (end.output as { signal: number }).signal);
    }
    expect(said.sort()).toEqual([1, 2, 3]);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("counts as often as it is sent, though signals have equal data and time", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const twice = () => [1, 2].map(() => engine.signal("invoice-42-paid", null, { principal: anaPerson }));
    await Promise.all(twice());
    const runs = [];
    for (let at = 0; at < 4; at += 1) {
      const run = await engine.submit(waiting, { principal: botAgent });
      await stage.runUntilIdle(run);
      runs.push(run);
    }
    await Promise.all(twice());
    expect(await Promise.all(runs.map(async (run) => (await stage.runUntilIdle(run)).status))).toEqual(
      Array.from({ length: 4 }, () => "completed"),
    );
  });

  it("without a name, or a wait without one, is refused with the reason", async () => {
    const engine = await newStage().open({ tools: [] });
    expect((await rejectedFault(engine.signal("", null, { principal: anaPerson }))).code).toBe("INVALID_INPUT");
    const nothing = { steps: [{ step_id: "paid", kind: "wait", payload: { signal: "\n" } }] };
    expect((await rejectedFault(engine.submit(nothing, { principal: botAgent }))).message).toContain("printable");
  });
});
