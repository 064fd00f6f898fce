import { describe, expect, it } from "vitest";
import { connect } from "../../src/store/sqlite/driver.ts";
import { actor, faultOf, journalOf } from "./cast.ts";
import { ana, bot, fileStage, places, type Stage } from "./stage.ts";

/** More than is read from a store at once. */
const looks = 600;

const plan = {
  steps: [
    ...Array.from({ length: looks }, (_, n) => ({ step_id: `look-${n}`, name: "look", payload: { n } })),
    { step_id: "send", name: "send", payload: { to: "ana" } },
  ],
};

/** A process that does everything but what needs a person, and is gone then. */
async function left(stage: Stage) {
  const look = actor("look", ({ input }) => input, { effect: "reads" });
  const send = actor("send", () => ({ id: "m1" }));
  const tools = [look.tool, send.tool];
  const engine = await stage.open({ tools, tenants: {} });
  const run = await engine.submit(plan, { principal: bot });
  const [gate] = (await run.result()).gates;
  await engine.close();
  return { look, send, tools, run_id: run.run_id, gate_id: gate?.gate_id ?? "" };
}

describe.each(places)("a long run, on $name", ({ newStage }) => {
  it("goes on where it was left, doing nothing again, and every event of it is audited", async () => {
    const stage = newStage();
    const { look, send, tools, run_id, gate_id } = await left(stage);
    const engine = await stage.open({ tools, tenants: {} });
    await engine.approve(gate_id, { principal: ana });
    const run = await engine.run(run_id, { principal: bot });
    const result = await run.result();
    expect(result.status).toBe("completed");
    expect(result.steps[`look-${looks - 1}`]).toEqual({ state: "succeeded", output: { n: looks - 1 } });
    expect([look.calls.length, send.calls.length]).toEqual([looks, 1]);
    const { length } = await journalOf(run);
    expect(length).toBeGreaterThan(looks);
    expect(await engine.audit({ principal: ana })).toMatchObject({ runs: 1, events: length, broken: [] });
  });
});

describe("a long run that was tampered with late", () => {
  it.each([
    ["a changed body", "update event set body = replace(body, '\"n\"', '\"m\"') where position = 550", 550],
    ["a missing event", "delete from event where position = 520", 521],
  ])("is found out by %s, and does not go on", async (_, sql, position) => {
    const stage = fileStage();
    const { tools, run_id, gate_id } = await left(stage);
    const db = connect(stage.file);
    expect(db.prepare(sql).run().changes).toBe(1);
    db.close();
    const engine = await stage.open({ tools, tenants: {} });
    const { broken } = await engine.audit({ principal: ana });
    expect(broken).toMatchObject([{ run_id, position }]);
    expect(await faultOf(engine.approve(gate_id, { principal: ana }))).toMatchObject({ code: "CHAIN_BROKEN" });
  });
});
