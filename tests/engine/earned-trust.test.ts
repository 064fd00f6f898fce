import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool, throwsFault } from "./scripted-tool.ts";

const policy = (trust: object) => ({
  schema_version: "1.0",
  name: "house",
  scope: { tenant: "acme" },
  trust: [{ tools: ["send"], ...trust }],
});
const sends = (more: object = {}) =>
  scriptedTool("send", () => ({ id: "m1" }), { compensate: async () => {}, ...more });
let count = 0;

/** Asks once; answers what became of it, with a person's yes or no where one is asked. */
async function asked(engine: Engine, answer: "approve" | "reject" = "approve", principal = botAgent) {
  count += 1;
  const run = await engine.submit({ steps: [{ step_id: "send", name: "send", payload: { n: count } }] }, { principal });
  const [gate] = (await run.result()).gates;
  if (gate !== undefined) await engine[answer](gate.gate_id, { principal: anaPerson });
  const { steps } = await run.result();
  return { run, held: gate !== undefined, state: steps.send?.state };
}

describe.each(storeKinds)("earned trust, on $name", ({ newFixture: newStage }) => {
  const open = (trust: object = { after: 2 }, tool = sends().tool) =>
    newStage().open({ tools: [tool], tenants: {}, policies: [policy(trust)] });

  it("comes from approved calls that ended well, and each is recorded", async () => {
    const engine = await open();
    const first = await asked(engine);
    expect([first.held, (await asked(engine)).held, (await asked(engine)).held]).toEqual([true, true, false]);
    const [succeeded] = await collectEvents(first.run, "step.succeeded");
    expect(succeeded?.charges).toEqual([{ tally: "trust/send/bot", amount: 1 }]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], tallies: [] });
  });

  it("is lost with one rejection", async () => {
    const engine = await open({ after: 1 });
    await asked(engine);
    expect((await asked(engine)).held).toBe(false);
    const plan = { steps: [{ step_id: "send", name: "send", payload: { n: -1 }, gate: "human_confirm" }] };
    const run = await engine.submit(plan, { principal: botAgent });
    const [gate] = (await run.result()).gates;
    await engine.reject(gate?.gate_id as string, { principal: anaPerson });
    expect(await collectEvents(run, "gate.rejected")).toMatchObject([
      {
        charges: [
          { tally: "trust/send/bot", amount: -1 },
          { tally: "trust-lost/send/bot", amount: 1 },
        ],
      },
    ]);
    expect((await asked(engine)).held).toBe(true);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], tallies: [] });
  });

  it("that is lost during a call admits nothing: a person is asked", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const options = { tools: [tool], tenants: {}, policies: [policy({ after: 1 })] };
    const office = await stage.open({ ...options, work: false });
    const store = stage.store();
    let onTheWay = async () => {};
    const append: Store["append"] = async (entries) => {
      const starts = entries.some(({ events }) => events.some(({ type }) => type === "step.started"));
      if (starts) await onTheWay();
      return store.append(entries);
    };
    const engine = await stage.open({ ...options, store: { ...store, append } });
    await asked(engine);
    const plan = { steps: [{ step_id: "send", name: "send", payload: { n: -1 }, gate: "human_confirm" }] };
    const [gate] = (await (await engine.submit(plan, { principal: botAgent })).result()).gates;
    expect((await asked(engine)).held).toBe(false);
    onTheWay = async () => {
      onTheWay = async () => {};
      await office.reject(gate?.gate_id as string, { principal: anaPerson });
    };
    const { held, state } = await asked(engine, "reject");
    expect([held, state, calls.length]).toEqual([true, "rejected", 2]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], tallies: [] });
  });

  it("is lost when a trusted call has to be undone", async () => {
    const engine = await open({ after: 1 });
    await asked(engine);
    const { run, held } = await asked(engine);
    expect(held).toBe(false);
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    await run.result();
    expect((await asked(engine)).held).toBe(true);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], tallies: [] });
  });

  it("belongs to one principal and one tool", async () => {
    const engine = await open({ after: 1 });
    await asked(engine);
    expect((await asked(engine, "approve", { ...botAgent, id: "other" })).held).toBe(true);
  });

  it("is not earned by failed calls or calls without approval", async () => {
    const failing = await open({ after: 1 }, sends({}).tool);
    const bad = await newStage().open({
      tools: [scriptedTool("send", throwsFault("TOOL_FAILED"), { errorsMean: "not_done" }).tool],
      tenants: {},
      policies: [policy({ after: 1 })],
    });
    await asked(bad);
    expect((await asked(bad)).held).toBe(true);
    await asked(failing, "reject");
    expect((await asked(failing)).held).toBe(true);
  });

  it("never exceeds the policy's risk, mode or rules", async () => {
    const risky = await open({ after: 1, risk: "low" });
    for (let times = 0; times < 3; times += 1) expect((await asked(risky)).held).toBe(true);
    const strict = await newStage().open({
      tools: [sends().tool],
      tenants: {},
      policies: [
        policy({ after: 1 }),
        { schema_version: "1.0", name: "ask", rules: [{ id: "all", kind: "approval", on: { tools: ["send"] } }] },
      ],
    });
    for (let times = 0; times < 3; times += 1) expect((await asked(strict)).held).toBe(true);
  });
});
