import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store.ts";
import type { Engine } from "../../src/engine/api.ts";
import { actor, eventsOf, throws } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const policy = (trust: object) => ({
  schema_version: "1.0",
  name: "house",
  scope: { tenant: "acme" },
  trust: [{ tools: ["send"], ...trust }],
});
const sends = (more: object = {}) => actor("send", () => ({ id: "m1" }), { compensate: async () => {}, ...more });
let count = 0;

/** Asks once; answers what became of it, with a person's yes or no where one is asked. */
async function asked(engine: Engine, answer: "approve" | "reject" = "approve", principal = bot) {
  count += 1;
  const run = await engine.submit({ steps: [{ step_id: "send", name: "send", payload: { n: count } }] }, { principal });
  const [gate] = (await run.result()).gates;
  if (gate !== undefined) await engine[answer](gate.gate_id, { principal: ana });
  const { steps } = await run.result();
  return { run, held: gate !== undefined, state: steps.send?.state };
}

describe.each(places)("trust that is earned, on $name", ({ newStage }) => {
  const open = (trust: object = { after: 2 }, tool = sends().tool) =>
    newStage().open({ tools: [tool], tenants: {}, policies: [policy(trust)] });

  it("comes with calls that were approved and ended well, and the record tells of each", async () => {
    const engine = await open();
    const first = await asked(engine);
    expect([first.held, (await asked(engine)).held, (await asked(engine)).held]).toEqual([true, true, false]);
    const [succeeded] = await eventsOf(first.run, "step.succeeded");
    expect(succeeded?.charges).toEqual([{ tally: "trust/send/bot", amount: 1 }]);
    expect(await engine.audit({ principal: ana })).toMatchObject({ broken: [], tallies: [] });
  });

  it("is lost with one no", async () => {
    const engine = await open({ after: 1 });
    await asked(engine);
    expect((await asked(engine)).held).toBe(false);
    const plan = { steps: [{ step_id: "send", name: "send", payload: { n: -1 }, gate: "human_confirm" }] };
    const run = await engine.submit(plan, { principal: bot });
    const [gate] = (await run.result()).gates;
    await engine.reject(gate?.gate_id as string, { principal: ana });
    expect(await eventsOf(run, "gate.rejected")).toMatchObject([
      {
        charges: [
          { tally: "trust/send/bot", amount: -1 },
          { tally: "trust-lost/send/bot", amount: 1 },
        ],
      },
    ]);
    expect((await asked(engine)).held).toBe(true);
    expect(await engine.audit({ principal: ana })).toMatchObject({ broken: [], tallies: [] });
  });

  it("that is lost while a call is on its way lets nothing through: a person is asked", async () => {
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
    const [gate] = (await (await engine.submit(plan, { principal: bot })).result()).gates;
    expect((await asked(engine)).held).toBe(false);
    onTheWay = async () => {
      onTheWay = async () => {};
      await office.reject(gate?.gate_id as string, { principal: ana });
    };
    const { held, state } = await asked(engine, "reject");
    expect([held, state, calls.length]).toEqual([true, "rejected", 2]);
    expect(await engine.audit({ principal: ana })).toMatchObject({ broken: [], tallies: [] });
  });

  it("is lost when what it let through has to be undone", async () => {
    const engine = await open({ after: 1 });
    await asked(engine);
    const { run, held } = await asked(engine);
    expect(held).toBe(false);
    await engine.resolve(run.run_id, "send", { principal: ana, as: "undo" });
    await run.result();
    expect((await asked(engine)).held).toBe(true);
    expect(await engine.audit({ principal: ana })).toMatchObject({ broken: [], tallies: [] });
  });

  it("is one's own, with one tool", async () => {
    const engine = await open({ after: 1 });
    await asked(engine);
    expect((await asked(engine, "approve", { ...bot, id: "other" })).held).toBe(true);
  });

  it("is not earned by what failed, nor by what nobody had to approve", async () => {
    const failing = await open({ after: 1 }, sends({}).tool);
    const bad = await newStage().open({
      tools: [actor("send", throws("TOOL_FAILED"), { errorsMean: "not_done" }).tool],
      tenants: {},
      policies: [policy({ after: 1 })],
    });
    await asked(bad);
    expect((await asked(bad)).held).toBe(true);
    await asked(failing, "reject");
    expect((await asked(failing)).held).toBe(true);
  });

  it("never goes beyond the risk that the policy says, nor beyond its mode or its rules", async () => {
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
