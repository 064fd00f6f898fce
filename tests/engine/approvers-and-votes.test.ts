import { describe, expect, it } from "vitest";
import type { Demand } from "../../src/core/approval/approval-demand.ts";
import type { VersionedGuard } from "../../src/core/call/guard.ts";
import type { Notice } from "../../src/core/event/event.ts";
import type { Engine, RunHandle } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { pausableStore } from "./pausable-store.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const minute = 60 * 1000;
const person = (id: string, ...roles: readonly string[]) => ({ ...anaPerson, id, roles });
const [bob, cleo] = [person("bob", "cfo"), person("cleo", "board")];
const asking = (demand: Demand): VersionedGuard => ({
  id: "house",
  version: "1",
  judge: () => ({ kind: "hold", rule: "house", reason: "house rules", demand }),
});
const pays = () =>
  scriptedTool("pay", () => ({ id: "p1" }), {
    input: { type: "object", properties: { cents: { type: "integer", maximum: 100 } }, required: ["cents"] },
    cost: () => ({ usd_micros: 5 }),
    compensate: async () => {},
  });
const notes = defineSlice({ name: "notes", shape: "list", entry: { type: "string" } });
const one = { steps: [{ step_id: "pay", name: "pay", payload: { cents: 50 } }] };

async function held(engine: Engine, more: object = {}): Promise<{ run: RunHandle; gate: string }> {
  const run = await engine.submit(one, { principal: botAgent, ...more });
  const { gates } = await run.result();
  return { run, gate: gates[0]?.gate_id as string };
}

describe.each(storeKinds)("gate that asks several people, on $name", ({ newFixture: newStage }) => {
  const two: Demand = { role: null, people: 2 };

  it("shows its approvers, the estimated cost and whether the call can be undone", async () => {
    const engine = await newStage().open({ tools: [pays().tool], guards: [asking(two)] });
    const { run, gate } = await held(engine);
    const shown = { demand: two, votes: [], estimate: { usd_micros: 5 }, reversible: true, policy: null };
    expect(await engine.gate(gate, { principal: anaPerson })).toMatchObject(shown);
    expect((await run.result()).gates).toMatchObject([shown]);
    await engine.approve(gate, { principal: anaPerson, reason: "fine" });
    expect((await run.result()).gates).toMatchObject([{ votes: [{ by: "ana" }] }]);
  });

  it("counts ids that differ only in case or in the form of their letters as one person", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking(two)] });
    const { run, gate } = await held(engine, { principal: { ...botAgent, id: "Bob" } });
    for (const requester of ["bob", "BOB", "ｂｏｂ"]) {
      expect(await rejectedFault(engine.approve(gate, { principal: person(requester) }))).toMatchObject({
        code: "AUTH_FORBIDDEN",
        message: expect.stringContaining("requested this call"),
      });
    }
    await engine.approve(gate, { principal: anaPerson });
    for (const again of ["Ana", "ａｎａ"])
      expect(await rejectedFault(engine.approve(gate, { principal: person(again) }))).toMatchObject({
        code: "GATE_DECIDED",
      });
    expect(pay.calls).toHaveLength(0);
    await engine.approve(gate, { principal: cleo });
    expect((await run.result()).status).toBe("completed");
  });

  it("refuses principals, tenants and roles with characters that cannot be seen", async () => {
    const engine = await newStage().open({ tools: [pays().tool] });
    for (const wrong of [{ id: "bob\u200b" }, { id: "bob " }, { tenant: "acme\u202e" }, { roles: ["cfo\u00ad"] }]) {
      const principal = { ...anaPerson, ...wrong };
      expect(await rejectedFault(engine.runs({ principal }))).toMatchObject({ code: "AUTH_FORBIDDEN" });
    }
    for (const wrong of [{ project: "garden\u200b" }, { session: " monday" }])
      expect(await rejectedFault(engine.submit(one, { principal: botAgent, ...wrong }))).toMatchObject({
        code: "INVALID_INPUT",
      });
  });

  it("admits the call once, after enough approvals, and counts each person once", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking(two)] });
    const { run, gate } = await held(engine);
    await engine.approve(gate, { principal: anaPerson });
    expect(await rejectedFault(engine.approve(gate, { principal: anaPerson }))).toMatchObject({ code: "GATE_DECIDED" });
    expect(pay.calls).toHaveLength(0);
    await engine.approve(gate, { principal: bob });
    expect((await run.result()).status).toBe("completed");
    expect(pay.calls).toHaveLength(1);
    expect(await rejectedFault(engine.approve(gate, { principal: cleo }))).toMatchObject({
      code: "GATE_DECIDED",
      message: expect.stringContaining("ana and bob already approved it"),
    });
    expect(await collectEvents(run, "gate.contested")).toMatchObject([{ by: { id: "ana" } }, { by: { id: "cleo" } }]);
  });

  it("is closed by one rejection", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking(two)] });
    const { run, gate } = await held(engine);
    await engine.approve(gate, { principal: anaPerson });
    await engine.reject(gate, { principal: bob, reason: "too much" });
    expect((await run.result()).steps.pay).toMatchObject({ state: "rejected", fault: { code: "GATE_REJECTED" } });
    expect(pay.calls).toHaveLength(0);
  });

  it("counts simultaneous approvals from any process and names the deciding one", async () => {
    const stage = newStage();
    const pay = pays();
    const options = { tools: [pay.tool], guards: [asking(two)] };
    const worker = await stage.open(options);
    const { run, gate } = await held(worker);
    const offices = await Promise.all([1, 2, 3, 4].map(() => stage.open({ ...options, work: false })));
    const people = [anaPerson, bob, cleo, person("dan")];
    const told = offices.map((office, index) => office.approve(gate, { principal: people[index] ?? anaPerson }));
    const said = await Promise.allSettled(told);
    expect(said.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    for (const late of said)
      if (late.status === "rejected") expect(late.reason.fault).toMatchObject({ code: "GATE_DECIDED" });
    await stage.advance(3000);
    expect((await run.result()).status).toBe("completed");
    expect(pay.calls).toHaveLength(1);
    expect(await collectEvents(run, "gate.endorsed")).toHaveLength(1);
    expect(await collectEvents(run, "gate.approved")).toHaveLength(1);
    expect(await collectEvents(run, "gate.contested")).toHaveLength(2);
    expect(await worker.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("keeps its votes when every process dies in between", async () => {
    const stage = newStage();
    const pay = pays();
    const options = { tools: [pay.tool], guards: [asking(two)] };
    const { run, gate } = await held(await stage.open(options));
    const office = await stage.open({ ...options, work: false });
    await office.approve(gate, { principal: anaPerson });
    await stage.crash();
    const worker = await stage.open(options);
    await worker.approve(gate, { principal: bob });
    const again = await worker.run(run.run_id, { principal: botAgent });
    expect((await stage.runUntilIdle(again)).status).toBe("completed");
    expect(pay.calls).toHaveLength(1);
  });

  it("is decided independently of other gates of the run", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking({ role: null })] });
    const lax = { on_rejected: "continue" };
    const steps = ["a", "b", "c"].map((step_id, cents) => ({ step_id, name: "pay", payload: { cents }, ...lax }));
    const run = await engine.submit({ steps }, { principal: botAgent });
    const [a, b] = (await run.result()).gates;
    await engine.reject(a?.gate_id as string, { principal: anaPerson });
    await engine.approve(b?.gate_id as string, { principal: anaPerson });
    const result = await run.result();
    expect(result.steps).toMatchObject({
      a: { state: "rejected" },
      b: { state: "succeeded" },
      c: { state: "waiting_approval" },
    });
  });
});

describe.each(storeKinds)("approval with another input, on $name", ({ newFixture: newStage }) => {
  it("is accepted by the worker that has not yet seen its gate recorded", async () => {
    const stage = newStage();
    const { store, pause } = pausableStore(stage.store());
    const pay = pays();
    const engine = await stage.open({ tools: [pay.tool], guards: [asking({ role: null })], store });
    const opening = pause("append", ([{ events } = {}]) => events?.some(({ type }) => type === "gate.opened") === true);
    // With a key, the run is on record before its first decision.
    const run = await engine.submit(one, { principal: botAgent, requestKey: "pay once" });
    await opening.reached;
    const [gate] = await engine.gates({ principal: anaPerson });
    const approved = engine.approve(gate?.gate_id as string, { principal: anaPerson, input: { cents: 20 } });
    await engine.gates({ principal: anaPerson });
    opening.resume();
    await approved;
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(pay.calls).toMatchObject([{ input: { cents: 20 } }]);
  });

  it("runs the new input after the rules check it, and records both inputs", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking({ role: null })] });
    const { run, gate } = await held(engine);
    await engine.approve(gate, { principal: anaPerson, input: { cents: 20 }, reason: "half of it" });
    expect((await run.result()).status).toBe("completed");
    expect(pay.calls.map(({ input }) => input)).toEqual([{ cents: 20 }]);
    const [opened] = await collectEvents(run, "gate.opened");
    const [amended] = await collectEvents(run, "gate.amended");
    const [started] = await collectEvents(run, "step.started");
    expect(opened?.call.input).toEqual({ cents: 50 });
    expect(amended).toMatchObject({ by: { id: "ana" }, reason: "half of it", call: { input: { cents: 20 } } });
    expect(amended?.call.digest).not.toBe(opened?.call.digest);
    expect(started?.call).toEqual(amended?.call);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("opens another gate where the new input needs another approver", async () => {
    const pay = pays();
    const large: VersionedGuard = {
      id: "large",
      version: "1",
      judge: ({ proposal }) => {
        const role = (proposal.input as { cents: number }).cents > 60 ? "cfo" : null;
        return { kind: "hold", rule: "large", reason: "rules", demand: { role } };
      },
    };
    const engine = await newStage().open({ tools: [pay.tool], guards: [large] });
    const { run, gate } = await held(engine);
    await engine.approve(gate, { principal: anaPerson, input: { cents: 90 } });
    const [again] = (await run.result()).gates;
    expect(again).toMatchObject({ input: { cents: 90 }, demand: { role: "cfo" } });
    expect(pay.calls).toHaveLength(0);
    await engine.approve(again?.gate_id as string, { principal: bob });
    expect((await run.result()).status).toBe("completed");
    expect(pay.calls.map(({ input }) => input)).toEqual([{ cents: 90 }]);
  });

  it.each([
    ["does not fit", { cents: 101 }, "INVALID_INPUT"],
    ["is no input at all", "cents", "INVALID_INPUT"],
  ])("changes nothing where it %s, and is recorded", async (_, input, code) => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking({ role: null })] });
    const { run, gate } = await held(engine);
    expect(await rejectedFault(engine.approve(gate, { principal: anaPerson, input }))).toMatchObject({ code });
    expect(await collectEvents(run, "gate.contested")).toMatchObject([{ fault: { code } }]);
    expect(await engine.gate(gate, { principal: anaPerson })).toMatchObject({ status: "open", input: { cents: 50 } });
  });

  it("requires the tool that parses the input", async () => {
    const stage = newStage();
    const { gate } = await held(await stage.open({ tools: [pays().tool], guards: [asking({ role: null })] }));
    const office = await stage.open({ tools: [], work: false });
    const edit = { principal: anaPerson, input: { cents: 1 } };
    expect(await rejectedFault(office.approve(gate, edit))).toMatchObject({ code: "TOOL_MISSING" });
  });
});

describe.each(storeKinds)("approval by digest, on $name", ({ newFixture: newStage }) => {
  it("decides nothing if the gate holds another call", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking({ role: null })] });
    const { run, gate } = await held(engine);
    const wrong = { principal: anaPerson, digest: "0".repeat(64) };
    for (const verb of ["approve", "reject"] as const)
      expect(await rejectedFault(engine[verb](gate, wrong))).toMatchObject({ code: "GATE_MISMATCH" });
    expect(await collectEvents(run, "gate.contested")).toHaveLength(2);
    const { digest } = await engine.gate(gate, { principal: anaPerson });
    await engine.approve(gate, { principal: anaPerson, digest });
    expect((await run.result()).status).toBe("completed");
  });

  it("finds and changes nothing in another tenant", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [pays().tool], guards: [asking({ role: null })] });
    const { gate } = await held(engine);
    const before = await stage.dump();
    const stranger = { ...anaPerson, tenant: "other" };
    for (const decide of [
      () => engine.approve(gate, { principal: stranger }),
      () => engine.approve(gate, { principal: stranger, input: { cents: 1 } }),
      () => engine.reject(gate, { principal: stranger }),
    ])
      expect(await rejectedFault(decide())).toMatchObject({ code: "GATE_NOT_FOUND" });
    expect(await stage.dump()).toEqual(before);
  });
});

describe.each(storeKinds)("undecided gate, on $name", ({ newFixture: newStage }) => {
  const demand: Demand = { role: "cfo", within_ms: 3 * minute, escalate: { after_ms: minute, role: "board" } };

  it("escalates to further approvers after a while, notifies them, and then expires", async () => {
    const stage = newStage();
    const told: Notice[] = [];
    const engine = await stage.open({
      tools: [pays().tool],
      guards: [asking(demand)],
      onNotice: async (notice) => void told.push(notice),
    });
    const { run, gate } = await held(engine);
    expect((await rejectedFault(engine.approve(gate, { principal: cleo }))).code).toBe("AUTH_FORBIDDEN");
    await stage.advance(minute);
    expect(told).toMatchObject([{ topic: "gate.escalated", payload: { gate_id: gate, to: [{ role: "board" }] } }]);
    expect((await run.result()).gates).toHaveLength(1);
    await stage.advance(2 * minute);
    expect((await run.result()).steps.pay).toMatchObject({ state: "rejected", fault: { code: "GATE_EXPIRED" } });
    expect(told).toHaveLength(1);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("is decided by an escalation approver", async () => {
    const stage = newStage();
    const pay = pays();
    const engine = await stage.open({ tools: [pay.tool], guards: [asking(demand)] });
    const { run, gate } = await held(engine);
    await stage.advance(minute);
    await engine.approve(gate, { principal: cleo });
    expect((await run.result()).status).toBe("completed");
    expect(pay.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("confirmation, on $name", ({ newFixture: newStage }) => {
  const meant: Demand = { role: null, kind: "confirmation" };

  it("is given by the caller in advance or at the gate by the requester", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking(meant)] });
    const sure = await engine.call("pay", { cents: 1 }, { principal: botAgent, confirmed: true });
    expect(sure.step).toMatchObject({ state: "succeeded" });
    const run = await engine.submit(one, { principal: anaPerson, confirmed: ["other"] });
    const [gate] = (await run.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    const [accepted] = await collectEvents(run, "run.accepted");
    expect(accepted).toMatchObject({ confirmed: ["other"] });
  });

  it("never counts as an approval", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], tenants: {}, guards: [asking(meant)] });
    const { run, gate } = await held(engine, { principal: anaPerson, confirmed: true });
    expect((await rejectedFault(engine.approve(gate, { principal: anaPerson }))).code).toBe("AUTH_FORBIDDEN");
    await engine.approve(gate, { principal: bob });
    expect((await run.result()).status).toBe("completed");
  });

  it("is accepted in exactly one form", async () => {
    const engine = await newStage().open({ tools: [pays().tool], guards: [asking(meant)] });
    for (const confirmed of [false, "yes", [1], {}])
      expect(
        await rejectedFault(engine.submit(one, { principal: botAgent, confirmed: confirmed as never })),
      ).toMatchObject({
        code: "INVALID_INPUT",
      });
  });
});

describe.each(storeKinds)("approval and forks of its run, on $name", ({ newFixture: newStage }) => {
  it("covers only its own run: a fork reuses the approved act instead of repeating it", async () => {
    const pay = pays();
    const look = scriptedTool("look", () => ({ n: 1 }), { effect: "reads" });
    const options = { tools: [pay.tool, look.tool], guards: [payOnly], slices: [notes] };
    const engine = await newStage().open(options);
    const steps = [
      { step_id: "look", name: "look" },
      { ...one.steps[0], depends_on: ["look"] },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    const [gate] = (await run.result()).gates;
    const at = { runId: run.run_id, stepId: "look", side: "after" } as const;
    const early = await engine.checkpoints.fork(at, { principal: anaPerson });
    const [own] = (await early.result()).gates;
    expect(own?.gate_id).not.toBe(gate?.gate_id);
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    // The fork needs an approval of its own, and then reuses the outcome.
    await engine.approve(own?.gate_id as string, { principal: { ...anaPerson, id: "bo" } });
    const late = await early.result();
    expect(late.steps.pay).toMatchObject({ state: "succeeded", reused: { run: run.run_id } });
    expect(pay.calls).toHaveLength(1);
  });

  const payOnly: VersionedGuard = {
    id: "house",
    version: "1",
    judge: (admission, state) =>
      admission.step.spec.name === "pay" ? asking({ role: null }).judge(admission, state) : { kind: "allow" },
  };
});

describe.each(storeKinds)("rejected call, on $name", ({ newFixture: newStage }) => {
  const steps = [
    { step_id: "look", name: "look" },
    { step_id: "pay", name: "pay", payload: { cents: 50 }, depends_on: ["look"] },
  ];
  const look = scriptedTool("look", () => ({ ok: true }), { effect: "writes" });

  it("is refused in every fork of its run; another call is not", async () => {
    const pay = pays();
    const stage = newStage();
    const engine = await stage.open({ tools: [look.tool, pay.tool], tenants: {}, slices: [notes] });
    const run = await engine.submit({ steps }, { principal: bob });
    const gate = (await run.result()).gates[0]?.gate_id as string;
    await engine.reject(gate, { principal: anaPerson, reason: "too much" });
    await run.result();
    const at = (runId: string) => ({ runId, stepId: "look", side: "after" }) as const;
    const fork = await engine.checkpoints.fork(at(run.run_id), { principal: anaPerson });
    expect(await fork.result()).toMatchObject({
      steps: {
        pay: { state: "rejected", fault: { code: "GATE_REJECTED", message: expect.stringContaining("ana rejected") } },
      },
      gates: [],
    });
    await stage.crash();
    const next = await stage.open({ tools: [look.tool, pay.tool], tenants: {}, slices: [notes] });
    const renamed = [steps[0], { ...steps[1], step_id: "other" }];
    const again = await next.checkpoints.fork(at(run.run_id), { principal: cleo, plan: { steps: renamed } });
    expect((await again.result()).steps.other).toMatchObject({ state: "rejected", fault: { code: "GATE_REJECTED" } });
    const less = [steps[0], { ...steps[1], payload: { cents: 10 } }];
    const other = await next.checkpoints.fork(at(run.run_id), { principal: cleo, plan: { steps: less } });
    const [held] = (await other.result()).gates;
    expect(held).toMatchObject({ input: { cents: 10 } });
    const edited = { principal: bob, input: { cents: 50 } };
    await next.approve(held?.gate_id as string, edited);
    expect((await other.result()).steps.pay).toMatchObject({ state: "rejected", fault: { code: "GATE_REJECTED" } });
    expect(pay.calls).toHaveLength(0);
  });
});
