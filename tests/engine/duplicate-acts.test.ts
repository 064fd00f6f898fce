import { describe, expect, it } from "vitest";
import type { Tool } from "../../src/core/tool/tool.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  deferred,
  neverAnswers,
  rejectedFault,
  type ScriptedTool,
  scriptedTool,
  throwsFault,
  throwsNotDone,
} from "./scripted-tool.ts";

const pays = (more: object = {}, deed: Parameters<typeof scriptedTool>[1] = ({ context: { key } }) => ({ id: key })) =>
  scriptedTool("pay", deed, { identity: ["invoice"], ...more });
const plan = (payload: object = {}) => ({
  steps: [{ step_id: "pay", name: "pay", payload: { invoice: "i-1", ...payload } }],
});
const keys = ({ calls }: ScriptedTool) => calls.map(({ context }) => context.key);

describe.each(storeKinds)("same act in another run, on $name", ({ newFixture: newStage }) => {
  it("is held with a reference to the earlier one, and is not done by itself", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(plan(), { principal: botAgent });
    await first.result();
    const second = await engine.submit(plan(), { principal: botAgent });
    const held = await second.result();
    expect(held).toMatchObject({ final: false, steps: { pay: { state: "waiting_approval" } } });
    expect(held.gates[0]?.reason).toContain(`run ${first.run_id}, step pay`);
    expect(held.gates[0]?.reason).toContain("an approval repeats it");
    expect(await collectEvents(second, "gate.opened")).toMatchObject([
      { rule: "ledger", duplicate_of: { run: first.run_id, step: "pay", generation: 1, certain: true } },
    ]);
    expect(pay.calls).toHaveLength(1);
  });

  it("is done again when a person approves, as another generation with another key", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool] });
    await (await engine.submit(plan(), { principal: botAgent })).result();
    const second = await engine.submit(plan(), { principal: botAgent });
    const [gate] = (await second.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: anaPerson, reason: "they paid back" });
    expect((await second.result()).status).toBe("completed");
    expect(new Set(keys(pay)).size).toBe(2);

    const third = await engine.submit(plan(), { principal: botAgent });
    await third.result();
    expect(await collectEvents(third, "gate.opened")).toMatchObject([
      { duplicate_of: { run: second.run_id, generation: 2 } },
    ]);
    expect(pay.calls).toHaveLength(2);
  });

  it("is held though the run that was to repeat it did nothing: the earlier act still stands", async () => {
    const pay = pays({}, [() => ({ id: "p1" }), throwsNotDone("INVALID_INPUT"), () => ({ id: "p3" })]);
    const engine = await newStage().open({ tools: [pay.tool] });
    await (await engine.submit(plan(), { principal: botAgent })).result();
    const second = await engine.submit(plan(), { principal: botAgent });
    const [gate] = (await second.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect((await second.result()).steps.pay).toMatchObject({ state: "failed_final" });
    const third = await engine.submit(plan(), { principal: botAgent });
    expect((await third.result()).gates).toMatchObject([{ step_id: "pay" }]);
    expect(pay.calls).toHaveLength(2);
  });

  it("is not done when a person rejects", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool] });
    await (await engine.submit(plan(), { principal: botAgent })).result();
    const second = await engine.submit(plan(), { principal: botAgent });
    const [gate] = (await second.result()).gates;
    await engine.reject(gate?.gate_id as string, { principal: anaPerson, reason: "enough" });
    expect(await second.result()).toMatchObject({
      status: "failed",
      steps: { pay: { state: "rejected", fault: { code: "GATE_REJECTED" } } },
    });
    expect(pay.calls).toHaveLength(1);
  });

  it("asks again when a third run acted between the gate and its approval", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool] });
    await (await engine.submit(plan(), { principal: botAgent })).result();
    const second = await engine.submit(plan(), { principal: botAgent });
    const third = await engine.submit(plan(), { principal: botAgent });
    const [gateOfSecond] = (await second.result()).gates;
    const [gateOfThird] = (await third.result()).gates;
    await engine.approve(gateOfThird?.gate_id as string, { principal: anaPerson });
    expect((await third.result()).status).toBe("completed");
    await engine.approve(gateOfSecond?.gate_id as string, { principal: anaPerson });
    const held = await second.result();
    expect(held.gates).toMatchObject([{ step_id: "pay" }]);
    expect(held.gates[0]?.gate_id).not.toBe(gateOfSecond?.gate_id);
    expect(pay.calls).toHaveLength(2);
  });

  it("returns the receipt where the tool reuses, and names its run and the differences", async () => {
    const pay = pays({ onDuplicate: "reuse" });
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(plan({ note: "a" }), { principal: botAgent });
    const paid = await first.result();
    const same = await (await engine.submit(plan({ note: "a" }), { principal: botAgent })).result();
    expect(same.steps.pay).toEqual({
      ...paid.steps.pay,
      reused: { run: first.run_id, step: "pay", at: expect.any(Number), differs: null },
    });
    const other = await (await engine.submit(plan({ note: "b" }), { principal: botAgent })).result();
    expect(other.steps.pay).toMatchObject({
      state: "succeeded",
      reused: { differs: expect.stringContaining("input") },
    });
    expect(pay.calls).toHaveLength(1);
  });

  it("returns the receipt only after approval where acts are gated", async () => {
    const pay = pays({ onDuplicate: "reuse" });
    const engine = await newStage().open({ tools: [pay.tool], tenants: {} });
    for (const turn of ["first", "second"]) {
      const run = await engine.submit(plan(), { principal: botAgent });
      const [gate] = (await run.result()).gates;
      await engine.approve(gate?.gate_id as string, { principal: anaPerson });
      const result = await run.result();
      expect(result, turn).toMatchObject({ status: "completed", gates: [] });
      if (turn === "second") expect(result.steps.pay).toHaveProperty("reused");
    }
    expect(pay.calls).toHaveLength(1);
  });

  it("is refused where the tool refuses duplicates", async () => {
    const pay = pays({ onDuplicate: "refuse" });
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(plan(), { principal: botAgent });
    await first.result();
    const second = await engine.submit(plan(), { principal: botAgent });
    const { steps } = await second.result();
    expect(steps.pay).toMatchObject({ state: "rejected", fault: { code: "DUPLICATE_EFFECT" } });
    expect(JSON.stringify(steps.pay)).toContain(first.run_id);
    expect(pay.calls).toHaveLength(1);
  });

  it("waits while the other run acts, and is then decided by its outcome", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const pay = pays({ onDuplicate: "reuse" }, () => answer.promise);
    const engine = await stage.open({ tools: [pay.tool] });
    const first = await engine.submit(plan(), { principal: botAgent });
    await stage.advance(0);
    const second = await engine.submit(plan(), { principal: botAgent });
    expect(await second.result()).toMatchObject({
      final: false,
      blocked_on: [{ step_id: "pay", reason_code: "WAITING_FOR_KEY", run_id: first.run_id }],
    });
    answer.keep({ id: "p1" });
    await first.finished();
    await stage.advance(5000);
    expect((await second.finished()).steps.pay).toMatchObject({ output: { id: "p1" }, reused: { run: first.run_id } });
    expect(pay.calls).toHaveLength(1);
  });

  it("is held while the other is in doubt", async () => {
    const pay = pays({}, throwsFault("NETWORK_TIMEOUT"));
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(plan(), { principal: botAgent });
    await first.result();
    const second = await engine.submit(plan(), { principal: botAgent });
    const held = await second.result();
    expect(held.gates[0]?.reason).toContain("perhaps already");
    expect(await collectEvents(second, "gate.opened")).toMatchObject([{ duplicate_of: { certain: false } }]);
    expect(pay.calls).toHaveLength(1);
  });

  it("proceeds when the other turned out not to have happened", async () => {
    const pay = pays({}, [throwsFault("NETWORK_TIMEOUT"), () => ({ id: "p2" }), () => ({ id: "p3" })]);
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit({ steps: [{ ...plan().steps[0], on_failure: "skip" }] }, { principal: botAgent });
    await first.result();
    await first.cancel({ reason: "no longer wanted" });
    await engine.resolve(first.run_id, "pay", { principal: anaPerson, as: "absent" });
    expect((await first.result()).status).toBe("cancelled");
    const second = await engine.submit(plan(), { principal: botAgent });
    expect((await second.result()).status).toBe("completed");
    expect(pay.calls).toHaveLength(2);
  });

  it("is held after the other was undone, and approving opens the next generation", async () => {
    const pay = pays({ compensate: async () => null });
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(plan(), { principal: botAgent });
    await first.result();
    await engine.resolve(first.run_id, "pay", { principal: anaPerson, as: "undo" });
    await first.result();
    const second = await engine.submit(plan(), { principal: botAgent });
    const [gate] = (await second.result()).gates;
    expect(gate?.reason).toContain("compensated");
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect((await second.result()).status).toBe("completed");
    expect(new Set(keys(pay)).size).toBe(2);
  });

  it("is done once when many runs request it together", async () => {
    const stage = newStage();
    const pay = pays({ onDuplicate: "reuse" });
    const engine = await stage.open({ tools: [pay.tool] });
    const runs = await Promise.all(Array.from({ length: 20 }, () => engine.submit(plan(), { principal: botAgent })));
    await stage.advance(10_000);
    const results = await Promise.all(runs.map((run) => run.finished()));
    expect(results.map(({ status }) => status)).toEqual(Array(20).fill("completed"));
    expect(pay.calls).toHaveLength(1);
    expect(new Set(results.map(({ steps }) => JSON.stringify((steps.pay as { output: unknown }).output))).size).toBe(1);
  });

  it("does not affect another tenant", async () => {
    const pay = pays({ onDuplicate: "reuse" });
    const engine = await newStage().open({
      tools: [pay.tool],
      tenants: { acme: { mode: "auto_exec" }, globex: { mode: "auto_exec" } },
    });
    await (await engine.submit(plan(), { principal: botAgent })).result();
    const theirs = await engine.submit(plan(), { principal: { ...botAgent, tenant: "globex" } });
    expect((await theirs.result()).steps.pay).not.toHaveProperty("reused");
    expect(new Set(keys(pay)).size).toBe(2);
  });
});

describe.each(storeKinds)("identity of an act, on $name", ({ newFixture: newStage }) => {
  it("comes from the tool, also for two steps of one run: the second reuses the receipt", async () => {
    const stage = newStage();
    const pay = pays();
    const engine = await stage.open({ tools: [pay.tool] });
    const steps = [
      { step_id: "a", name: "pay", payload: { invoice: "i-1" } },
      { step_id: "b", name: "pay", payload: { invoice: "i-1" }, depends_on: ["a"] },
      { step_id: "c", name: "pay", payload: { invoice: "i-2" } },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      status: "completed",
      steps: { b: { reused: { step: "a" } } },
    });
    expect(pay.calls).toHaveLength(2);
  });

  it("is the same for texts that differ only in form, if the tool says so", async () => {
    const forms = [
      ["nfc", "caf\u00e9", "cafe\u0301", true],
      ["nfc", "cafe", "Cafe", false],
      ["trim", "cafe\u0301", " caf\u00e9\t", true],
      ["nfkc-casefold", "ORDER-1", "ｏｒｄｅｒ-1", true],
      [null, "caf\u00e9", "cafe\u0301", false],
    ] as const;
    for (const [normalize, one, other, isSame] of forms) {
      const pay = pays({ identity: normalize === null ? ["invoice"] : [{ field: "invoice", normalize }] });
      const engine = await newStage().open({ tools: [pay.tool] });
      const first = await engine.call("pay", { invoice: one }, { principal: botAgent });
      const second = await engine.call("pay", { invoice: other }, { principal: botAgent });
      expect(first.step.state).toBe("succeeded");
      expect(second.step.state).toBe(isSame ? "waiting_approval" : "succeeded");
      expect(pay.calls.map(({ input }) => input.invoice)).toEqual(isSame ? [one] : [one, other]);
    }
  });

  it("is warned of, in a check, a simulation and at the gate, if its text is not in normal form C", async () => {
    const engine = await newStage().open({ tools: [pays().tool], tenants: {} });
    const caution = expect.stringContaining("/invoice is part of the identity of the act and is not in Unicode normal");
    const odd = plan({ invoice: "cafe\u0301" });
    expect(engine.check(odd)).toMatchObject({ ok: true, warnings: [{ path: "/steps/0/payload", message: caution }] });
    expect((await engine.simulate(odd, { principal: botAgent })).acts).toMatchObject([{ caution }]);
    const run = await engine.submit(odd, { principal: botAgent });
    const [gate] = (await run.result()).gates;
    expect(gate).toMatchObject({ caution });
    expect(await engine.gate(gate?.gate_id as string, { principal: anaPerson })).toMatchObject({ caution });
    expect(await collectEvents(run, "gate.opened")).toMatchObject([{ call: { caution } }]);
    expect(engine.check(plan({ invoice: "caf\u00e9" })).warnings).toEqual([]);
  });

  it("comes from a template with literal values across runs; another input is then held, not reused", async () => {
    const pay = scriptedTool("pay", ({ context: { key } }) => ({ id: key }), { onDuplicate: "reuse" });
    const engine = await newStage().open({ tools: [pay.tool] });
    const templated = (payload: object) => ({
      steps: [{ step_id: "s", name: "pay", payload, idempotency_template: "pay:{invoice}" }],
    });
    await (await engine.submit(templated({ invoice: 1, cents: 5 }), { principal: botAgent })).result();
    const same = await (await engine.submit(templated({ invoice: 1, cents: 5 }), { principal: botAgent })).result();
    expect(same.steps.s).toHaveProperty("reused");
    const other = await (await engine.submit(templated({ invoice: 1, cents: 6 }), { principal: botAgent })).result();
    expect(other.gates).toHaveLength(1);
    expect(pay.calls).toHaveLength(1);
  });

  it("is the step itself without identity or template: two runs are two acts", async () => {
    const pay = scriptedTool("pay", ({ context: { key } }) => ({ id: key }));
    const engine = await newStage().open({ tools: [pay.tool] });
    await (await engine.submit(plan(), { principal: botAgent })).result();
    expect((await (await engine.submit(plan(), { principal: botAgent })).result()).status).toBe("completed");
    expect(new Set(keys(pay)).size).toBe(2);
  });

  it("does not change with the tool version", async () => {
    const stage = newStage();
    const old = pays({ version: "1" });
    const next = pays({ version: "2" });
    const open = (tool: Tool) => stage.open({ tools: [tool] });
    const first = await open(old.tool);
    await (await first.submit(plan(), { principal: botAgent })).result();
    await first.close();
    const second = await open(next.tool);
    const held = await (await second.submit(plan(), { principal: botAgent })).result();
    expect(held.gates).toHaveLength(1);
    expect(next.calls).toHaveLength(0);
  });

  it("refuses a call that lacks part of it", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool] });
    const asked = engine.submit({ steps: [{ step_id: "pay", name: "pay", payload: {} }] }, { principal: botAgent });
    const outcome = await asked.then(
      async (run) => (await run.result()).steps.pay,
      () => "refused at the door",
    );
    if (outcome !== "refused at the door") expect(outcome).toMatchObject({ state: "rejected" });
    expect(pay.calls).toHaveLength(0);
  });

  it("makes another run wait for a dead worker's act until its owner settles it", async () => {
    const stage = newStage();
    const pay = pays({}, neverAnswers);
    const first = await stage.open({ tools: [pay.tool] });
    const owner = await first.submit(plan(), { principal: botAgent });
    await stage.advance(0);
    await stage.crash();
    const second = await stage.open({ tools: [pay.tool] });
    const asker = await second.submit(plan(), { principal: botAgent });
    await stage.advance(5000);
    const held = await asker.result();
    expect(held.steps.pay).toMatchObject({ state: "waiting_approval" });
    await second.resolve(owner.run_id, "pay", { principal: anaPerson, as: "happened", output: { id: "p1" } });
    expect((await (await second.run(owner.run_id, { principal: botAgent })).result()).status).toBe("completed");
    expect((await rejectedFault(second.resume(owner.run_id, { principal: botAgent }))).code).toBe("NOT_POSSIBLE");
    expect(pay.calls).toHaveLength(1);
  });
});
