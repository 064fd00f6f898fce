import { describe, expect, it } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { type Actor, actor, eventsOf, faultOf, hang, promised, says, throws } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const pays = (more: object = {}, deed: Parameters<typeof actor>[1] = ({ context: { key } }) => ({ id: key })) =>
  actor("pay", deed, { identity: ["invoice"], ...more });
const plan = (payload: object = {}) => ({
  steps: [{ step_id: "pay", name: "pay", payload: { invoice: "i-1", ...payload } }],
});
const keys = ({ calls }: Actor) => calls.map(({ context }) => context.key);

describe.each(places)("the same act in another run, on $name", ({ newStage }) => {
  it("is held with the earlier one in sight, and is not done by itself", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(plan(), { principal: bot });
    await first.result();
    const second = await engine.submit(plan(), { principal: bot });
    const held = await second.result();
    expect(held).toMatchObject({ final: false, steps: { pay: { state: "waiting_approval" } } });
    expect(held.gates[0]?.reason).toContain(`run ${first.run_id}, step pay`);
    expect(held.gates[0]?.reason).toContain("yes, again");
    expect(await eventsOf(second, "gate.opened")).toMatchObject([
      { rule: "ledger", duplicate_of: { run: first.run_id, step: "pay", generation: 1, certain: true } },
    ]);
    expect(pay.calls).toHaveLength(1);
  });

  it("is done again when a person says so, as another generation with another key downstream", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool] });
    await (await engine.submit(plan(), { principal: bot })).result();
    const second = await engine.submit(plan(), { principal: bot });
    const [gate] = (await second.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: ana, reason: "they paid back" });
    expect((await second.result()).status).toBe("completed");
    expect(new Set(keys(pay)).size).toBe(2);

    const third = await engine.submit(plan(), { principal: bot });
    await third.result();
    expect(await eventsOf(third, "gate.opened")).toMatchObject([
      { duplicate_of: { run: second.run_id, generation: 2 } },
    ]);
    expect(pay.calls).toHaveLength(2);
  });

  it("is held though the one that was to repeat it did nothing: the first still stands", async () => {
    const pay = pays({}, [() => ({ id: "p1" }), says("INVALID_INPUT"), () => ({ id: "p3" })]);
    const engine = await newStage().open({ tools: [pay.tool] });
    await (await engine.submit(plan(), { principal: bot })).result();
    const second = await engine.submit(plan(), { principal: bot });
    const [gate] = (await second.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: ana });
    expect((await second.result()).steps.pay).toMatchObject({ state: "failed_final" });
    const third = await engine.submit(plan(), { principal: bot });
    expect((await third.result()).gates).toMatchObject([{ step_id: "pay" }]);
    expect(pay.calls).toHaveLength(2);
  });

  it("is not done when a person says no", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool] });
    await (await engine.submit(plan(), { principal: bot })).result();
    const second = await engine.submit(plan(), { principal: bot });
    const [gate] = (await second.result()).gates;
    await engine.reject(gate?.gate_id as string, { principal: ana, reason: "enough" });
    expect(await second.result()).toMatchObject({
      status: "failed",
      steps: { pay: { state: "rejected", fault: { code: "GATE_REJECTED" } } },
    });
    expect(pay.calls).toHaveLength(1);
  });

  it("asks again when a third run came in between the question and the yes", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool] });
    await (await engine.submit(plan(), { principal: bot })).result();
    const second = await engine.submit(plan(), { principal: bot });
    const third = await engine.submit(plan(), { principal: bot });
    const [gateOfSecond] = (await second.result()).gates;
    const [gateOfThird] = (await third.result()).gates;
    await engine.approve(gateOfThird?.gate_id as string, { principal: ana });
    expect((await third.result()).status).toBe("completed");
    await engine.approve(gateOfSecond?.gate_id as string, { principal: ana });
    const held = await second.result();
    expect(held.gates).toMatchObject([{ step_id: "pay" }]);
    expect(held.gates[0]?.gate_id).not.toBe(gateOfSecond?.gate_id);
    expect(pay.calls).toHaveLength(2);
  });

  it("is answered with the receipt where the tool reuses, and says whose it is and in what it differs", async () => {
    const pay = pays({ onDuplicate: "reuse" });
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(plan({ note: "a" }), { principal: bot });
    const paid = await first.result();
    const same = await (await engine.submit(plan({ note: "a" }), { principal: bot })).result();
    expect(same.steps.pay).toEqual({
      ...paid.steps.pay,
      reused: { run: first.run_id, step: "pay", at: expect.any(Number), differs: null },
    });
    const other = await (await engine.submit(plan({ note: "b" }), { principal: bot })).result();
    expect(other.steps.pay).toMatchObject({
      state: "succeeded",
      reused: { differs: expect.stringContaining("input") },
    });
    expect(pay.calls).toHaveLength(1);
  });

  it("is answered with the receipt only after a person allowed the call, where acts are gated", async () => {
    const pay = pays({ onDuplicate: "reuse" });
    const engine = await newStage().open({ tools: [pay.tool], tenants: {} });
    for (const turn of ["first", "second"]) {
      const run = await engine.submit(plan(), { principal: bot });
      const [gate] = (await run.result()).gates;
      await engine.approve(gate?.gate_id as string, { principal: ana });
      const result = await run.result();
      expect(result, turn).toMatchObject({ status: "completed", gates: [] });
      if (turn === "second") expect(result.steps.pay).toHaveProperty("reused");
    }
    expect(pay.calls).toHaveLength(1);
  });

  it("is refused where the tool refuses", async () => {
    const pay = pays({ onDuplicate: "refuse" });
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(plan(), { principal: bot });
    await first.result();
    const second = await engine.submit(plan(), { principal: bot });
    const { steps } = await second.result();
    expect(steps.pay).toMatchObject({ state: "rejected", fault: { code: "DUPLICATE_EFFECT" } });
    expect(JSON.stringify(steps.pay)).toContain(first.run_id);
    expect(pay.calls).toHaveLength(1);
  });

  it("waits while the other is still at it, and is then judged by how that ended", async () => {
    const stage = newStage();
    const answer = promised<object>();
    const pay = pays({ onDuplicate: "reuse" }, () => answer.promise);
    const engine = await stage.open({ tools: [pay.tool] });
    const first = await engine.submit(plan(), { principal: bot });
    await stage.pass(0);
    const second = await engine.submit(plan(), { principal: bot });
    expect(await second.result()).toMatchObject({
      final: false,
      blocked_on: [{ step_id: "pay", reason_code: "WAITING_FOR_KEY", run_id: first.run_id }],
    });
    answer.keep({ id: "p1" });
    await first.finished();
    await stage.pass(5000);
    expect((await second.finished()).steps.pay).toMatchObject({ output: { id: "p1" }, reused: { run: first.run_id } });
    expect(pay.calls).toHaveLength(1);
  });

  it("is held while the other is in doubt: it may have happened", async () => {
    const pay = pays({}, throws("NETWORK_TIMEOUT"));
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(plan(), { principal: bot });
    await first.result();
    const second = await engine.submit(plan(), { principal: bot });
    const held = await second.result();
    expect(held.gates[0]?.reason).toContain("perhaps already");
    expect(await eventsOf(second, "gate.opened")).toMatchObject([{ duplicate_of: { certain: false } }]);
    expect(pay.calls).toHaveLength(1);
  });

  it("is free again when the other turned out not to have happened", async () => {
    const pay = pays({}, [throws("NETWORK_TIMEOUT"), () => ({ id: "p2" }), () => ({ id: "p3" })]);
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit({ steps: [{ ...plan().steps[0], on_failure: "skip" }] }, { principal: bot });
    await first.result();
    await first.cancel({ reason: "no longer wanted" });
    await engine.resolve(first.run_id, "pay", { principal: ana, as: "absent" });
    expect((await first.result()).status).toBe("cancelled");
    const second = await engine.submit(plan(), { principal: bot });
    expect((await second.result()).status).toBe("completed");
    expect(pay.calls).toHaveLength(2);
  });

  it("is held after the other was undone, and approving opens the next generation", async () => {
    const pay = pays({ compensate: async () => null });
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(plan(), { principal: bot });
    await first.result();
    await engine.resolve(first.run_id, "pay", { principal: ana, as: "undo" });
    await first.result();
    const second = await engine.submit(plan(), { principal: bot });
    const [gate] = (await second.result()).gates;
    expect(gate?.reason).toContain("compensated");
    await engine.approve(gate?.gate_id as string, { principal: ana });
    expect((await second.result()).status).toBe("completed");
    expect(new Set(keys(pay)).size).toBe(2);
  });

  it("is done once when many runs ask for it at the same moment", async () => {
    const stage = newStage();
    const pay = pays({ onDuplicate: "reuse" });
    const engine = await stage.open({ tools: [pay.tool] });
    const runs = await Promise.all(Array.from({ length: 20 }, () => engine.submit(plan(), { principal: bot })));
    await stage.pass(10_000);
    const results = await Promise.all(runs.map((run) => run.finished()));
    expect(results.map(({ status }) => status)).toEqual(Array(20).fill("completed"));
    expect(pay.calls).toHaveLength(1);
    expect(new Set(results.map(({ steps }) => JSON.stringify((steps.pay as { output: unknown }).output))).size).toBe(1);
  });

  it("is nobody else's business in another tenant", async () => {
    const pay = pays({ onDuplicate: "reuse" });
    const engine = await newStage().open({
      tools: [pay.tool],
      tenants: { acme: { mode: "auto_exec" }, globex: { mode: "auto_exec" } },
    });
    await (await engine.submit(plan(), { principal: bot })).result();
    const theirs = await engine.submit(plan(), { principal: { ...bot, tenant: "globex" } });
    expect((await theirs.result()).steps.pay).not.toHaveProperty("reused");
    expect(new Set(keys(pay)).size).toBe(2);
  });
});

describe.each(places)("what makes two calls the same act, on $name", ({ newStage }) => {
  it("is the tool's identity, for two steps of one run as well: the second meets the receipt", async () => {
    const stage = newStage();
    const pay = pays();
    const engine = await stage.open({ tools: [pay.tool] });
    const steps = [
      { step_id: "a", name: "pay", payload: { invoice: "i-1" } },
      { step_id: "b", name: "pay", payload: { invoice: "i-1" }, depends_on: ["a"] },
      { step_id: "c", name: "pay", payload: { invoice: "i-2" } },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ status: "completed", steps: { b: { reused: { step: "a" } } } });
    expect(pay.calls).toHaveLength(2);
  });

  it("is a template whose values the plan gives literally, across runs; another input is then held, not reused", async () => {
    const pay = actor("pay", ({ context: { key } }) => ({ id: key }), { onDuplicate: "reuse" });
    const engine = await newStage().open({ tools: [pay.tool] });
    const templated = (payload: object) => ({
      steps: [{ step_id: "s", name: "pay", payload, idempotency_template: "pay:{invoice}" }],
    });
    await (await engine.submit(templated({ invoice: 1, cents: 5 }), { principal: bot })).result();
    const same = await (await engine.submit(templated({ invoice: 1, cents: 5 }), { principal: bot })).result();
    expect(same.steps.s).toHaveProperty("reused");
    const other = await (await engine.submit(templated({ invoice: 1, cents: 6 }), { principal: bot })).result();
    expect(other.gates).toHaveLength(1);
    expect(pay.calls).toHaveLength(1);
  });

  it("is only the step itself without identity or template: two runs are two acts", async () => {
    const pay = actor("pay", ({ context: { key } }) => ({ id: key }));
    const engine = await newStage().open({ tools: [pay.tool] });
    await (await engine.submit(plan(), { principal: bot })).result();
    expect((await (await engine.submit(plan(), { principal: bot })).result()).status).toBe("completed");
    expect(new Set(keys(pay)).size).toBe(2);
  });

  it("does not change with the version of the tool", async () => {
    const stage = newStage();
    const old = pays({ version: "1" });
    const next = pays({ version: "2" });
    const open = (tool: Tool) => stage.open({ tools: [tool] });
    const first = await open(old.tool);
    await (await first.submit(plan(), { principal: bot })).result();
    await first.close();
    const second = await open(next.tool);
    const held = await (await second.submit(plan(), { principal: bot })).result();
    expect(held.gates).toHaveLength(1);
    expect(next.calls).toHaveLength(0);
  });

  it("is refused when a call lacks part of its identity", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool] });
    const asked = engine.submit({ steps: [{ step_id: "pay", name: "pay", payload: {} }] }, { principal: bot });
    const outcome = await asked.then(
      async (run) => (await run.result()).steps.pay,
      () => "refused at the door",
    );
    if (outcome !== "refused at the door") expect(outcome).toMatchObject({ state: "rejected" });
    expect(pay.calls).toHaveLength(0);
  });

  it("lets a dead worker's act be waited for, then settled by whoever owns it", async () => {
    const stage = newStage();
    const pay = pays({}, hang);
    const first = await stage.open({ tools: [pay.tool] });
    const owner = await first.submit(plan(), { principal: bot });
    await stage.pass(0);
    await stage.crash();
    const second = await stage.open({ tools: [pay.tool] });
    const asker = await second.submit(plan(), { principal: bot });
    await stage.pass(5000);
    const held = await asker.result();
    expect(held.steps.pay).toMatchObject({ state: "waiting_approval" });
    await second.resolve(owner.run_id, "pay", { principal: ana, as: "happened", output: { id: "p1" } });
    expect((await (await second.run(owner.run_id, { principal: bot })).result()).status).toBe("completed");
    expect((await faultOf(second.resume(owner.run_id, { principal: bot }))).code).toBe("NOT_POSSIBLE");
    expect(pay.calls).toHaveLength(1);
  });
});
