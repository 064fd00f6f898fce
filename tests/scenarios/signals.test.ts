import { describe, expect, it } from "vitest";
import { actor, faultOf } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const paid = { kind: "wait", payload: { signal: "invoice-42-paid" } };
const waiting = { steps: [{ step_id: "paid", ...paid }] };
const settled = { state: "succeeded", output: { signal: { amount: 100 }, by: "ana", sent_at: expect.any(Number) } };

describe.each(places)("a signal, on $name", ({ newStage }) => {
  it("ends the wait it is for, and what follows builds on what it says", async () => {
    const ship = actor("ship", ({ input }) => input, { effect: "reads" });
    const stage = newStage();
    const engine = await stage.open({ tools: [ship.tool] });
    const bindings = { "/amount": { step: "paid", path: "/signal/amount" } };
    const steps = [...waiting.steps, { step_id: "ship", name: "ship", payload: {}, bindings }];
    const run = await engine.submit({ steps }, { principal: bot });
    expect(await stage.rest(run)).toMatchObject({
      final: false,
      next: "send the signal invoice-42-paid that paid waits for",
      blocked_on: [{ step_id: "paid", reason_code: "WAITING_FOR_SIGNAL", signal: "invoice-42-paid" }],
    });
    expect(await engine.signal("invoice-42-paid", { amount: 100 }, { principal: ana })).toBe("delivered");
    expect((await stage.rest(run)).steps).toMatchObject({ paid: settled, ship: { output: { amount: 100 } } });
  });

  it("that comes early is kept for the first that waits for it, in the order of their coming", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    expect(await engine.signal("invoice-42-paid", 1, { principal: ana })).toBe("kept");
    expect(await engine.signal("invoice-42-paid", 2, { principal: ana })).toBe("kept");
    await stage.crash();
    const next = await stage.open({ tools: [] });
    const said: unknown[] = [];
    for (let at = 0; at < 3; at += 1) {
      const run = await next.submit(waiting, { principal: bot });
      const { steps } = await stage.rest(run);
      said.push(steps.paid?.state === "succeeded" ? (steps.paid.output as { signal: unknown }).signal : "waits");
    }
    expect(said).toEqual([1, 2, "waits"]);
    expect(await next.signal("invoice-42-paid", 3, { principal: ana })).toBe("delivered");
  });

  it("is for one step, the one that has waited longest", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const runs = [];
    for (let at = 0; at < 3; at += 1) {
      runs.push(await engine.submit(waiting, { principal: bot }));
      await stage.pass(100);
    }
    await engine.signal("invoice-42-paid", null, { principal: ana });
    await stage.pass(1000);
    const states = await Promise.all(runs.map(async (run) => (await run.now()).status));
    expect(states).toEqual(["completed", "partial", "partial"]);
  });

  it("goes past whoever has gone on without it", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const gone = await engine.submit(waiting, { principal: bot });
    await stage.rest(gone);
    await gone.cancel();
    const left = await engine.submit(waiting, { principal: bot });
    await stage.rest(left);
    await engine.signal("invoice-42-paid", { amount: 100 }, { principal: ana });
    expect((await stage.rest(left)).steps.paid).toMatchObject(settled);
    expect((await gone.now()).status).toBe("cancelled");
  });

  it("sent again under its id is sent once, whether someone waits or not", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const once = { principal: ana, id: "evt-1" };
    expect(await engine.signal("invoice-42-paid", { amount: 100 }, once)).toBe("kept");
    expect(await engine.signal("invoice-42-paid", { amount: 100 }, once)).toBe("duplicate");
    const run = await engine.submit(waiting, { principal: bot });
    expect((await stage.rest(run)).status).toBe("completed");
    const more = await engine.submit(waiting, { principal: bot });
    await stage.rest(more);
    expect(await engine.signal("invoice-42-paid", { amount: 100 }, once)).toBe("duplicate");
    expect((await more.now()).final).toBe(false);
    const fault = await faultOf(engine.signal("invoice-42-paid", { amount: 7 }, once));
    expect(fault.code).toBe("REQUEST_KEY_REUSED");
    const twice = { principal: ana, id: "evt-2" };
    await Promise.all([1, 2, 3].map(() => engine.signal("invoice-42-paid", { amount: 100 }, twice)));
    expect((await stage.rest(more)).status).toBe("completed");
    const last = await engine.submit(waiting, { principal: bot });
    expect((await stage.rest(last)).final).toBe(false);
  });

  it("that does not come in time is not waited for; then it is kept", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const steps = [{ step_id: "paid", kind: "wait", payload: { signal: "invoice-42-paid", ms: 60_000 } }];
    const run = await engine.submit({ steps }, { principal: bot });
    await stage.pass(61_000);
    const { status, steps: ended } = await run.now();
    expect([status, ended.paid]).toEqual([
      "completed",
      { state: "succeeded", output: { signal: null, waited_until: expect.any(Number) } },
    ]);
    expect(await engine.signal("invoice-42-paid", null, { principal: ana })).toBe("kept");
  });

  it("can be named by what an earlier step answered", async () => {
    const ask = actor("ask", () => ({ ticket: "T-7" }), { effect: "reads" });
    const stage = newStage();
    const engine = await stage.open({ tools: [ask.tool] });
    const bindings = { "/signal": { step: "ask", path: "/ticket" } };
    const steps = [
      { step_id: "ask", name: "ask", payload: {} },
      { step_id: "answered", kind: "wait", payload: {}, bindings },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    await stage.rest(run);
    expect(await engine.signal("T-7", "yes", { principal: ana })).toBe("delivered");
    expect((await stage.rest(run)).steps.answered).toMatchObject({ output: { signal: "yes" } });
  });

  it("of one tenant is nothing to another", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const run = await engine.submit(waiting, { principal: bot });
    await stage.rest(run);
    expect(await engine.signal("invoice-42-paid", null, { principal: { ...ana, tenant: "umbrella" } })).toBe("kept");
    expect((await run.now()).final).toBe(false);
  });

  it("reaches one of many who begin to wait while it is sent", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const [first, , second, , , third] = await Promise.all([
      engine.submit(waiting, { principal: bot }),
      engine.signal("invoice-42-paid", 1, { principal: ana }),
      engine.submit(waiting, { principal: bot }),
      engine.signal("invoice-42-paid", 2, { principal: ana }),
      engine.signal("invoice-42-paid", 3, { principal: ana }),
      engine.submit(waiting, { principal: bot }),
    ]);
    const said = [];
    for (const run of [first, second, third]) {
      const { paid: end } = (await stage.rest(run)).steps;
      said.push(end?.state === "succeeded" && (end.output as { signal: number }).signal);
    }
    expect(said.sort()).toEqual([1, 2, 3]);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });

  it("is as many as were sent, though they say the same at the same moment", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const twice = () => [1, 2].map(() => engine.signal("invoice-42-paid", null, { principal: ana }));
    await Promise.all(twice());
    const runs = [];
    for (let at = 0; at < 4; at += 1) {
      const run = await engine.submit(waiting, { principal: bot });
      await stage.rest(run);
      runs.push(run);
    }
    await Promise.all(twice());
    expect(await Promise.all(runs.map(async (run) => (await stage.rest(run)).status))).toEqual(
      Array.from({ length: 4 }, () => "completed"),
    );
  });

  it("without a name, or for a wait that names none, is refused with the reason", async () => {
    const engine = await newStage().open({ tools: [] });
    expect((await faultOf(engine.signal("", null, { principal: ana }))).code).toBe("INVALID_INPUT");
    const nothing = { steps: [{ step_id: "paid", kind: "wait", payload: { signal: "\n" } }] };
    expect((await faultOf(engine.submit(nothing, { principal: bot }))).message).toContain("printable");
  });
});
