import { describe, expect, it } from "vitest";
import type { Demand } from "../../src/core/demand.ts";
import type { Notice } from "../../src/core/event.ts";
import type { Guard } from "../../src/core/guard.ts";
import type { Engine, RunHandle } from "../../src/engine/api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { actor, eventsOf, faultOf } from "./cast.ts";
import { pausing } from "./pauses.ts";
import { ana, bot, places } from "./stage.ts";

const minute = 60 * 1000;
const person = (id: string, ...roles: readonly string[]) => ({ ...ana, id, roles });
const [bob, cleo] = [person("bob", "cfo"), person("cleo", "board")];
const asking = (demand: Demand): Guard => ({
  id: "house",
  judge: () => ({ kind: "hold", rule: "house", reason: "house rules", demand }),
});
const pays = () =>
  actor("pay", () => ({ id: "p1" }), {
    input: { type: "object", properties: { cents: { type: "integer", maximum: 100 } }, required: ["cents"] },
    cost: () => ({ usd_micros: 5 }),
    compensate: async () => {},
  });
const notes = defineSlice({ name: "notes", shape: "list", entry: { type: "string" } });
const one = { steps: [{ step_id: "pay", name: "pay", payload: { cents: 50 } }] };

async function held(engine: Engine, more: object = {}): Promise<{ run: RunHandle; gate: string }> {
  const run = await engine.submit(one, { principal: bot, ...more });
  const { gates } = await run.result();
  return { run, gate: gates[0]?.gate_id as string };
}

describe.each(places)("a gate for several people, on $name", ({ newStage }) => {
  const two: Demand = { role: null, people: 2 };

  it("shows whom it asks for, what the call may cost and whether it can be undone", async () => {
    const engine = await newStage().open({ tools: [pays().tool], guards: [asking(two)] });
    const { run, gate } = await held(engine);
    const shown = { demand: two, votes: [], estimate: { usd_micros: 5 }, reversible: true, policy: null };
    expect(await engine.gate(gate, { principal: ana })).toMatchObject(shown);
    expect((await run.result()).gates).toMatchObject([shown]);
    await engine.approve(gate, { principal: ana, reason: "fine" });
    expect((await run.result()).gates).toMatchObject([{ votes: [{ by: "ana" }] }]);
  });

  it("lets the call through once, when enough have said yes, and not one of them twice", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking(two)] });
    const { run, gate } = await held(engine);
    await engine.approve(gate, { principal: ana });
    expect(await faultOf(engine.approve(gate, { principal: ana }))).toMatchObject({ code: "GATE_DECIDED" });
    expect(pay.calls).toHaveLength(0);
    await engine.approve(gate, { principal: bob });
    expect((await run.result()).status).toBe("completed");
    expect(pay.calls).toHaveLength(1);
    expect(await faultOf(engine.approve(gate, { principal: cleo }))).toMatchObject({
      code: "GATE_DECIDED",
      message: expect.stringContaining("by ana and bob"),
    });
    expect(await eventsOf(run, "gate.contested")).toMatchObject([{ by: { id: "ana" } }, { by: { id: "cleo" } }]);
  });

  it("is ended by one no", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking(two)] });
    const { run, gate } = await held(engine);
    await engine.approve(gate, { principal: ana });
    await engine.reject(gate, { principal: bob, reason: "too much" });
    expect((await run.result()).steps.pay).toMatchObject({ state: "rejected", fault: { code: "GATE_REJECTED" } });
    expect(pay.calls).toHaveLength(0);
  });

  it("counts everyone who decides at the same moment, from whatever process, and tells the last who was first", async () => {
    const stage = newStage();
    const pay = pays();
    const options = { tools: [pay.tool], guards: [asking(two)] };
    const worker = await stage.open(options);
    const { run, gate } = await held(worker);
    const offices = await Promise.all([1, 2, 3, 4].map(() => stage.open({ ...options, work: false })));
    const people = [ana, bob, cleo, person("dan")];
    const told = offices.map((office, index) => office.approve(gate, { principal: people[index] ?? ana }));
    const said = await Promise.allSettled(told);
    expect(said.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    for (const late of said)
      if (late.status === "rejected") expect(late.reason.fault).toMatchObject({ code: "GATE_DECIDED" });
    await stage.pass(3000);
    expect((await run.result()).status).toBe("completed");
    expect(pay.calls).toHaveLength(1);
    expect(await eventsOf(run, "gate.endorsed")).toHaveLength(1);
    expect(await eventsOf(run, "gate.approved")).toHaveLength(1);
    expect(await eventsOf(run, "gate.contested")).toHaveLength(2);
    expect(await worker.audit({ principal: bot })).toMatchObject({ broken: [] });
  });

  it("keeps what was said though every process dies in between", async () => {
    const stage = newStage();
    const pay = pays();
    const options = { tools: [pay.tool], guards: [asking(two)] };
    const { run, gate } = await held(await stage.open(options));
    const office = await stage.open({ ...options, work: false });
    await office.approve(gate, { principal: ana });
    await stage.crash();
    const worker = await stage.open(options);
    await worker.approve(gate, { principal: bob });
    const again = await worker.run(run.run_id, { principal: bot });
    expect((await stage.rest(again)).status).toBe("completed");
    expect(pay.calls).toHaveLength(1);
  });

  it("is one of several, each decided by itself", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking({ role: null })] });
    const lax = { on_rejected: "continue" };
    const steps = ["a", "b", "c"].map((step_id, cents) => ({ step_id, name: "pay", payload: { cents }, ...lax }));
    const run = await engine.submit({ steps }, { principal: bot });
    const [a, b] = (await run.result()).gates;
    await engine.reject(a?.gate_id as string, { principal: ana });
    await engine.approve(b?.gate_id as string, { principal: ana });
    const result = await run.result();
    expect(result.steps).toMatchObject({
      a: { state: "rejected" },
      b: { state: "succeeded" },
      c: { state: "waiting_approval" },
    });
  });
});

describe.each(places)("an approval with another input, on $name", ({ newStage }) => {
  it("is taken by whoever holds the run and has not heard yet that the gate is on record", async () => {
    const stage = newStage();
    const { store, pause } = pausing(stage.store());
    const pay = pays();
    const engine = await stage.open({ tools: [pay.tool], guards: [asking({ role: null })], store });
    const opening = pause("append", ([{ events } = {}]) => events?.some(({ type }) => type === "gate.opened") === true);
    const run = await engine.submit(one, { principal: bot });
    await opening.reached;
    const [gate] = await engine.gates({ principal: ana });
    const approved = engine.approve(gate?.gate_id as string, { principal: ana, input: { cents: 20 } });
    await engine.gates({ principal: ana });
    opening.goOn();
    await approved;
    expect((await stage.rest(run)).status).toBe("completed");
    expect(pay.calls).toMatchObject([{ input: { cents: 20 } }]);
  });

  it("runs that input, judged anew, and the record tells both", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking({ role: null })] });
    const { run, gate } = await held(engine);
    await engine.approve(gate, { principal: ana, input: { cents: 20 }, reason: "half of it" });
    expect((await run.result()).status).toBe("completed");
    expect(pay.calls.map(({ input }) => input)).toEqual([{ cents: 20 }]);
    const [opened] = await eventsOf(run, "gate.opened");
    const [amended] = await eventsOf(run, "gate.amended");
    const [started] = await eventsOf(run, "step.started");
    expect(opened?.call.input).toEqual({ cents: 50 });
    expect(amended).toMatchObject({ by: { id: "ana" }, reason: "half of it", call: { input: { cents: 20 } } });
    expect(amended?.call.digest).not.toBe(opened?.call.digest);
    expect(started?.call).toEqual(amended?.call);
    expect(await engine.audit({ principal: bot })).toMatchObject({ broken: [] });
  });

  it("is held again where the other input asks for someone else", async () => {
    const pay = pays();
    const large: Guard = {
      id: "large",
      judge: ({ proposal }) => {
        const role = (proposal.input as { cents: number }).cents > 60 ? "cfo" : null;
        return { kind: "hold", rule: "large", reason: "rules", demand: { role } };
      },
    };
    const engine = await newStage().open({ tools: [pay.tool], guards: [large] });
    const { run, gate } = await held(engine);
    await engine.approve(gate, { principal: ana, input: { cents: 90 } });
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
  ])("changes nothing where it %s, and is on record", async (_, input, code) => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking({ role: null })] });
    const { run, gate } = await held(engine);
    expect(await faultOf(engine.approve(gate, { principal: ana, input }))).toMatchObject({ code });
    expect(await eventsOf(run, "gate.contested")).toMatchObject([{ fault: { code } }]);
    expect(await engine.gate(gate, { principal: ana })).toMatchObject({ status: "open", input: { cents: 50 } });
  });

  it("needs the tool that reads it", async () => {
    const stage = newStage();
    const { gate } = await held(await stage.open({ tools: [pays().tool], guards: [asking({ role: null })] }));
    const office = await stage.open({ tools: [], work: false });
    const edit = { principal: ana, input: { cents: 1 } };
    expect(await faultOf(office.approve(gate, edit))).toMatchObject({ code: "TOOL_MISSING" });
  });
});

describe.each(places)("who decides has seen the call, on $name", ({ newStage }) => {
  it("and decides nothing if that was another", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking({ role: null })] });
    const { run, gate } = await held(engine);
    const wrong = { principal: ana, digest: "0".repeat(64) };
    for (const verb of ["approve", "reject"] as const)
      expect(await faultOf(engine[verb](gate, wrong))).toMatchObject({ code: "GATE_MISMATCH" });
    expect(await eventsOf(run, "gate.contested")).toHaveLength(2);
    const { digest } = await engine.gate(gate, { principal: ana });
    await engine.approve(gate, { principal: ana, digest });
    expect((await run.result()).status).toBe("completed");
  });

  it("in their own tenant: of another's nothing is found, nor changed", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [pays().tool], guards: [asking({ role: null })] });
    const { gate } = await held(engine);
    const before = await stage.dump();
    const stranger = { ...ana, tenant: "other" };
    for (const decided of [
      engine.approve(gate, { principal: stranger }),
      engine.approve(gate, { principal: stranger, input: { cents: 1 } }),
      engine.reject(gate, { principal: stranger }),
    ])
      expect(await faultOf(decided)).toMatchObject({ code: "GATE_NOT_FOUND" });
    expect(await stage.dump()).toEqual(before);
  });
});

describe.each(places)("a gate that nobody decides, on $name", ({ newStage }) => {
  const demand: Demand = { role: "cfo", within_ms: 3 * minute, escalate: { after_ms: minute, role: "board" } };

  it("is for others, too, after a while; they are told, and then it expires", async () => {
    const stage = newStage();
    const told: Notice[] = [];
    const engine = await stage.open({
      tools: [pays().tool],
      guards: [asking(demand)],
      onNotice: async (notice) => void told.push(notice),
    });
    const { run, gate } = await held(engine);
    expect((await faultOf(engine.approve(gate, { principal: cleo }))).code).toBe("AUTH_FORBIDDEN");
    await stage.pass(minute);
    expect(told).toMatchObject([{ topic: "gate.escalated", payload: { gate_id: gate, to: [{ role: "board" }] } }]);
    expect((await run.result()).gates).toHaveLength(1);
    await stage.pass(2 * minute);
    expect((await run.result()).steps.pay).toMatchObject({ state: "rejected", fault: { code: "GATE_EXPIRED" } });
    expect(told).toHaveLength(1);
    expect(await engine.audit({ principal: bot })).toMatchObject({ broken: [] });
  });

  it("is decided by one of them", async () => {
    const stage = newStage();
    const pay = pays();
    const engine = await stage.open({ tools: [pay.tool], guards: [asking(demand)] });
    const { run, gate } = await held(engine);
    await stage.pass(minute);
    await engine.approve(gate, { principal: cleo });
    expect((await run.result()).status).toBe("completed");
    expect(pay.calls).toHaveLength(1);
  });
});

describe.each(places)("a confirmation, on $name", ({ newStage }) => {
  const meant: Demand = { role: null, kind: "confirmation" };

  it("is given by the caller in advance, or at the gate by whoever asked", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], guards: [asking(meant)] });
    const sure = await engine.call("pay", { cents: 1 }, { principal: bot, confirmed: true });
    expect(sure.step).toMatchObject({ state: "succeeded" });
    const run = await engine.submit(one, { principal: ana, confirmed: ["other"] });
    const [gate] = (await run.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: ana });
    expect((await run.result()).status).toBe("completed");
    const [accepted] = await eventsOf(run, "run.accepted");
    expect(accepted).toMatchObject({ confirmed: ["other"] });
  });

  it("never stands for an approval", async () => {
    const pay = pays();
    const engine = await newStage().open({ tools: [pay.tool], tenants: {}, guards: [asking(meant)] });
    const { run, gate } = await held(engine, { principal: ana, confirmed: true });
    expect((await faultOf(engine.approve(gate, { principal: ana }))).code).toBe("AUTH_FORBIDDEN");
    await engine.approve(gate, { principal: bob });
    expect((await run.result()).status).toBe("completed");
  });

  it("is a word that can be said in one way only", async () => {
    const engine = await newStage().open({ tools: [pays().tool], guards: [asking(meant)] });
    for (const confirmed of [false, "yes", [1], {}])
      expect(await faultOf(engine.submit(one, { principal: bot, confirmed: confirmed as never }))).toMatchObject({
        code: "INVALID_INPUT",
      });
  });
});

describe.each(places)("an approval and the forks of its run, on $name", ({ newStage }) => {
  it("is for the run that it was asked for: what it let through is met by a fork, not done again", async () => {
    const pay = pays();
    const look = actor("look", () => ({ n: 1 }), { effect: "reads" });
    const options = { tools: [pay.tool, look.tool], guards: [payOnly], slices: [notes] };
    const engine = await newStage().open(options);
    const steps = [
      { step_id: "look", name: "look" },
      { ...one.steps[0], depends_on: ["look"] },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    const [gate] = (await run.result()).gates;
    const at = { runId: run.run_id, stepId: "look", side: "after" } as const;
    const early = await engine.checkpoints.fork(at, { principal: bot });
    const [own] = (await early.result()).gates;
    expect(own?.gate_id).not.toBe(gate?.gate_id);
    await engine.approve(gate?.gate_id as string, { principal: ana });
    expect((await run.result()).status).toBe("completed");
    // The fork waits for a yes of its own, and then finds that it is done.
    await engine.approve(own?.gate_id as string, { principal: ana });
    const late = await early.result();
    expect(late.steps.pay).toMatchObject({ state: "succeeded", reused: { run: run.run_id } });
    expect(pay.calls).toHaveLength(1);
  });

  const payOnly: Guard = {
    id: "house",
    judge: (admission) =>
      admission.step.spec.name === "pay" ? asking({ role: null }).judge(admission) : { kind: "allow" },
  };
});
