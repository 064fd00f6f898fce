import { describe, expect, it } from "vitest";
import type { VersionedGuard } from "../../src/core/call/guard.ts";
import type { Store } from "../../src/core/store/store.ts";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import type { Engine, RunHandle } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const day = 24 * 60 * 60 * 1000;
const sends = () => scriptedTool("send", () => ({ id: "m1" }));
const one = { steps: [{ step_id: "send", name: "send", payload: { to: "ana" } }] };

async function held(engine: Engine, principal = botAgent): Promise<{ run: RunHandle; gate: string }> {
  const run = await engine.submit(one, { principal });
  const { gates } = await run.result();
  return { run, gate: gates[0]?.gate_id as string };
}

describe.each(storeKinds)("gate, on $name", ({ newFixture: newStage }) => {
  it("is approved with the input as it was when approve was called", async () => {
    const send = sends();
    const engine = await newStage().open({ tools: [send.tool], tenants: {} });
    const { run, gate } = await held(engine);
    const input = { to: "bob" };
    const approving = engine.approve(gate, { principal: anaPerson, input });
    input.to = "mallory";
    await approving;
    await run.result();
    expect(send.calls.map((call) => call.input)).toEqual([{ to: "bob" }]);
  });

  it("shows the exact call, its requester and its expiry, alone and in the list", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sends().tool], tenants: {} });
    const { run, gate } = await held(engine);
    const shown = await engine.gate(gate, { principal: anaPerson });
    expect(shown).toMatchObject({
      gate_id: gate,
      run_id: run.run_id,
      step_id: "send",
      tool: "send",
      status: "open",
      requester: "bot",
      input: { to: "ana" },
      expires_at: stage.clock.now() + 7 * day,
    });
    expect(await engine.gates({ principal: anaPerson })).toEqual([shown]);
  });

  it("is listed with the others of its run, which is read once", async () => {
    const stage = newStage();
    const store = stage.store();
    const read: string[] = [];
    const events: Store["events"] = (tenant, run, ...range) => {
      read.push(run);
      return store.events(tenant, run, ...range);
    };
    const engine = await stage.open({ tools: [sends().tool], tenants: {}, store: { ...store, events } });
    const steps = ["a", "b", "c"].map((step_id) => ({ step_id, name: "send", payload: { to: step_id } }));
    for (const plan of [{ steps }, one]) await (await engine.submit(plan, { principal: botAgent })).result();
    await stage.advance(0);
    read.length = 0;
    const listed = (await engine.gates({ principal: anaPerson })).map(({ step_id }) => step_id as string);
    expect(listed.sort()).toEqual(["a", "b", "c", "send"]);
    expect(read).toHaveLength(2);
    expect(new Set(read).size).toBe(2);
  });

  it.each<[string, () => Promise<never>]>([
    ["was tampered with", () => Promise.reject(new FaultError(fault("CHAIN_BROKEN", "changed")))],
    ["makes no sense", () => Promise.reject(new SyntaxError("not JSON"))],
  ])("is listed beside gates of a run that %s, which is named", async (_, reading) => {
    const stage = newStage();
    const store = stage.store();
    let lost = "";
    const events: Store["events"] = (tenant, run, ...range) =>
      run === lost ? reading() : store.events(tenant, run, ...range);
    const engine = await stage.open({ tools: [sends().tool], tenants: {}, store: { ...store, events } });
    const [first, second] = [await held(engine), await held(engine)];
    await stage.advance(0);
    lost = first.run.run_id;
    const listed = await engine.gates({ principal: anaPerson });
    expect(listed).toHaveLength(2);
    const code = "CHAIN_BROKEN";
    expect(listed).toContainEqual(expect.objectContaining({ gate_id: second.gate, input: { to: "ana" } }));
    expect(listed).toContainEqual(
      expect.objectContaining({ gate_id: first.gate, run_id: lost, fault: expect.objectContaining({ code }) }),
    );
    expect(await rejectedFault(engine.gate(first.gate, { principal: anaPerson }))).toMatchObject({ code });
  });

  it("admits exactly the shown call, once", async () => {
    const send = sends();
    const engine = await newStage().open({ tools: [send.tool], tenants: {} });
    const { run, gate } = await held(engine);
    await engine.approve(gate, { principal: anaPerson, reason: "fine" });
    expect((await run.result()).status).toBe("completed");
    expect(send.calls.map(({ input }) => input)).toEqual([{ to: "ana" }]);
    expect(await engine.gate(gate, { principal: anaPerson })).toMatchObject({ status: "consumed" });
    expect(await collectEvents(run, "gate.approved")).toMatchObject([
      { by: { id: "ana", kind: "person" }, reason: "fine" },
    ]);
  });

  it.each([
    ["an agent", botAgent],
    ["another agent", { ...botAgent, id: "bot2" }],
    ["a service", { ...anaPerson, id: "cron", kind: "service" as const }],
    ["a person of the same name as the requester", { ...anaPerson, id: "bot" }],
  ])("is not decided by %s, and the attempt is recorded", async (_, principal) => {
    const send = sends();
    const engine = await newStage().open({ tools: [send.tool], tenants: {} });
    const { run, gate } = await held(engine);
    expect((await rejectedFault(engine.approve(gate, { principal }))).code).toBe("AUTH_FORBIDDEN");
    expect((await rejectedFault(engine.reject(gate, { principal }))).code).toBe("AUTH_FORBIDDEN");
    expect(await collectEvents(run, "gate.contested")).toMatchObject([
      { by: { id: principal.id, kind: principal.kind }, fault: { code: "AUTH_FORBIDDEN" } },
      { by: { id: principal.id } },
    ]);
    expect((await run.result()).gates).toHaveLength(1);
    expect(send.calls).toHaveLength(0);
  });

  it("is not decided by its requester, but by another person", async () => {
    const engine = await newStage().open({ tools: [sends().tool], tenants: {} });
    const { run, gate } = await held(engine, anaPerson);
    expect((await rejectedFault(engine.approve(gate, { principal: anaPerson }))).code).toBe("AUTH_FORBIDDEN");
    await engine.approve(gate, { principal: { ...anaPerson, id: "bea" } });
    expect((await run.result()).status).toBe("completed");
  });

  it("is decided once: a later decision gets GATE_DECIDED with the first decider", async () => {
    const engine = await newStage().open({ tools: [sends().tool], tenants: {} });
    const { run, gate } = await held(engine);
    const decided = await Promise.allSettled([
      engine.approve(gate, { principal: anaPerson }),
      engine.reject(gate, { principal: { ...anaPerson, id: "bea" } }),
      engine.approve(gate, { principal: { ...anaPerson, id: "cleo" } }),
    ]);
    const first = ["ana", "bea", "cleo"].filter((_, index) => decided[index]?.status === "fulfilled");
    expect(first).toHaveLength(1);
    await run.result();
    const late = await rejectedFault(engine.reject(gate, { principal: anaPerson }));
    expect(late.code).toBe("GATE_DECIDED");
    expect(late.message).toMatch(new RegExp(`^${first[0]} already (approved it, and the call was made|rejected it);`));
  });

  it("that is rejected rejects the step, and a resumed run asks again", async () => {
    const send = sends();
    const engine = await newStage().open({ tools: [send.tool], tenants: {} });
    const { run, gate } = await held(engine);
    await engine.reject(gate, { principal: anaPerson, reason: "not today" });
    const refused = await run.result();
    expect(refused).toMatchObject({
      status: "failed",
      final: true,
      failed: [{ step_id: "send", state: "rejected", fault: { code: "GATE_REJECTED" } }],
    });
    expect(JSON.stringify(refused.steps.send)).toContain("not today");
    await engine.resume(run.run_id, { principal: botAgent });
    const again = await run.result();
    expect(again.gates[0]?.gate_id).not.toBe(gate);
    await engine.approve(again.gates[0]?.gate_id as string, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("expires without a decision, and a late approval is refused", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sends().tool], tenants: {}, limits: { gateMs: 10_000 } });
    const { run, gate } = await held(engine);
    await stage.advance(10_000);
    expect(await run.result()).toMatchObject({
      status: "failed",
      steps: { send: { state: "rejected", fault: { code: "GATE_EXPIRED" } } },
    });
    expect((await rejectedFault(engine.approve(gate, { principal: anaPerson }))).code).toBe("GATE_DECIDED");
  });

  it("expires on time though no worker was there", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sends().tool], tenants: {}, limits: { gateMs: 10_000 } });
    const { run, gate } = await held(engine);
    await engine.close();
    const office = await stage.open({ tools: [sends().tool], work: false });
    stage.clock.advance(10_000);
    expect((await rejectedFault(office.approve(gate, { principal: anaPerson }))).code).toBe("GATE_EXPIRED");
    expect((await (await office.run(run.run_id, { principal: botAgent })).result()).status).toBe("failed");
  });

  it("opens again when the approval was not used in time", async () => {
    const stage = newStage();
    const send = sends();
    const engine = await stage.open({ tools: [send.tool], tenants: {}, limits: { useWithinMs: 5000 } });
    const { run, gate } = await held(engine);
    await engine.close();
    const office = await stage.open({ tools: [send.tool], work: false, limits: { useWithinMs: 5000 } });
    await office.approve(gate, { principal: anaPerson });
    await office.close();
    stage.clock.advance(5001);
    const worker = await stage.open({ tools: [send.tool], tenants: {} });
    const result = await (await worker.run(run.run_id, { principal: botAgent })).result();
    expect(result.gates).toHaveLength(1);
    expect(result.gates[0]?.gate_id).not.toBe(gate);
    expect(send.calls).toHaveLength(0);
  });

  it("is decided in one process and used in another", async () => {
    const stage = newStage();
    const send = sends();
    const worker = await stage.open({ tools: [send.tool], tenants: {} });
    const { run, gate } = await held(worker);
    const office = await stage.open({ tools: [], work: false });
    await office.approve(gate, { principal: anaPerson });
    const finished = run.finished();
    await stage.advance(3000);
    expect((await finished).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("before a read is opened by the plan, and the read is recorded with its approval", async () => {
    const look = scriptedTool("look", () => ({ ok: true }), { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const run = await engine.submit(
      { steps: [{ step_id: "a", name: "look", gate: "human_confirm" }] },
      { principal: botAgent },
    );
    const [gate] = (await run.result()).gates;
    expect(look.calls).toHaveLength(0);
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect(await collectEvents(run, "step.started")).toMatchObject([
      { gate: { gate_id: gate?.gate_id }, ledger: null },
    ]);
  });

  it("returns GATE_NOT_FOUND for an unknown gate id", async () => {
    const engine = await newStage().open({ tools: [sends().tool], tenants: {} });
    await held(engine);
    for (const id of ["gate_nope", "", "'; drop table gate; --", "\u0000", "x".repeat(5000), "\ud800"])
      for (const asked of [
        engine.gate(id, { principal: anaPerson }),
        engine.approve(id, { principal: anaPerson }),
        engine.reject(id, { principal: anaPerson }),
      ].map(rejectedFault))
        expect((await asked).code, JSON.stringify(id)).toBe("GATE_NOT_FOUND");
  });
});

describe.each(storeKinds)("custom guard, on $name", ({ newFixture: newStage }) => {
  it("refuses and holds like a built-in one, and refuses when it throws", async () => {
    const send = sends();
    const judged = async (judge: () => never | object) => {
      const engine = await newStage().open({
        tools: [send.tool],
        guards: [{ id: "mine", version: "1", judge: judge as never }],
      });
      const run = await engine.submit(one, { principal: botAgent });
      return { result: await run.result(), run };
    };
    const holding = await judged(() => ({ kind: "hold", rule: "mine", reason: "four eyes", demand: { role: null } }));
    expect(holding.result.gates).toMatchObject([{ reason: "four eyes" }]);
    const refusing = await judged(() => ({
      kind: "refuse",
      rule: "mine",
      fault: { code: "POLICY_DENIED", message: "never" },
    }));
    expect(refusing.result.steps.send).toMatchObject({ state: "rejected", fault: { code: "POLICY_DENIED" } });
    const broken = await judged(() => {
      throw new Error("oops");
    });
    expect(broken.result.steps.send).toMatchObject({ state: "rejected", fault: { code: "POLICY_DENIED" } });
    const silent = await judged(() => undefined as never);
    expect(silent.result.steps.send).toMatchObject({ state: "rejected", fault: { code: "POLICY_DENIED" } });
    const babbling = await judged(() => ({ kind: "sure" }));
    expect(babbling.result.steps.send).toMatchObject({ state: "rejected", fault: { code: "POLICY_DENIED" } });
    expect(send.calls).toHaveLength(0);
  });

  it("may hold an undo, which its requester cannot approve", async () => {
    const undone: string[] = [];
    const send = scriptedTool("send", () => ({ id: "m1" }), { compensate: async ({ key }) => void undone.push(key) });
    const careful: VersionedGuard = {
      id: "careful",
      version: "1",
      judge: ({ step: { cause } }) =>
        cause?.by === "undo"
          ? { kind: "hold", rule: "careful", reason: "four eyes", demand: { role: null } }
          : { kind: "allow" },
    };
    const engine = await newStage().open({ tools: [send.tool], guards: [careful] });
    const run = await engine.submit(one, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    const gate = (await run.result()).gates[0]?.gate_id as string;
    expect(await engine.gate(gate, { principal: anaPerson })).toMatchObject({ requester: "ana" });
    expect((await rejectedFault(engine.approve(gate, { principal: anaPerson }))).code).toBe("AUTH_FORBIDDEN");
    await engine.approve(gate, { principal: { ...anaPerson, id: "bob" } });
    expect((await run.result()).steps.send).toMatchObject({ state: "compensated" });
    expect(undone).toHaveLength(1);
  });

  it("may require a role of the approver", async () => {
    const engine = await newStage().open({
      tools: [sends().tool],
      guards: [
        {
          id: "boss",
          version: "1",
          judge: () => ({ kind: "hold", rule: "boss", reason: "costly", demand: { role: "boss" } }),
        },
      ],
    });
    const { run, gate } = await held(engine);
    const refused = await rejectedFault(engine.approve(gate, { principal: anaPerson }));
    expect(refused.message).toContain("boss");
    await engine.approve(gate, { principal: { ...anaPerson, roles: ["boss"] } });
    expect((await run.result()).status).toBe("completed");
  });
});
