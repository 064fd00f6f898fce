import { describe, expect, it } from "vitest";
import { connectSqlite } from "../../src/store/sqlite/sqlite-driver.ts";
import { anaPerson, botAgent, type EngineFixture, sqliteFileFixture, storeKinds } from "./engine-fixture.ts";
import { collectJournal, rejectedFault, scriptedTool } from "./scripted-tool.ts";

/** More than is read from a store at once. */
const looks = 600;

const plan = {
  steps: [
    ...Array.from({ length: looks }, (_, n) => ({ step_id: `look-${n}`, name: "look", payload: { n } })),
    { step_id: "send", name: "send", payload: { to: "ana" } },
  ],
};

/** A process that does everything but what needs a person, and is gone then. */
async function left(stage: EngineFixture) {
  const look = scriptedTool("look", ({ input }) => input, { effect: "reads" });
  const send = scriptedTool("send", () => ({ id: "m1" }));
  const tools = [look.tool, send.tool];
  const engine = await stage.open({ tools, tenants: {} });
  const run = await engine.submit(plan, { principal: botAgent });
  const [gate] = (await run.result()).gates;
  await engine.close();
  return { look, send, tools, run_id: run.run_id, gate_id: gate?.gate_id ?? "" };
}

describe.each(storeKinds)("long run, on $name", ({ newFixture: newStage }) => {
  it("resumes where it stopped, repeats nothing, and every event is audited", async () => {
    const stage = newStage();
    const { look, send, tools, run_id, gate_id } = await left(stage);
    const engine = await stage.open({ tools, tenants: {} });
    await engine.approve(gate_id, { principal: anaPerson });
    const run = await engine.run(run_id, { principal: botAgent });
    const result = await run.result();
    expect(result.status).toBe("completed");
    expect(result.steps[`look-${looks - 1}`]).toEqual({ state: "succeeded", output: { n: looks - 1 } });
    expect([look.calls.length, send.calls.length]).toEqual([looks, 1]);
    const { length } = await collectJournal(run);
    expect(length).toBeGreaterThan(looks);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ runs: 1, events: length, broken: [] });
  });
});

describe("long run with a late change in its journal", () => {
  it.each([
    ["a changed body", "update event set body = replace(body, '\"n\"', '\"m\"') where position = 550", 550],
    ["a missing event", "delete from event where position = 520", 521],
  ])("is detected by %s and does not continue", async (_, sql, position) => {
    const stage = sqliteFileFixture();
    const { tools, run_id, gate_id } = await left(stage);
    const db = connectSqlite(stage.file);
    expect(db.prepare(sql).run().changes).toBe(1);
    db.close();
    const engine = await stage.open({ tools, tenants: {} });
    const { broken } = await engine.audit({ principal: anaPerson });
    expect(broken).toMatchObject([{ run_id, position }]);
    expect(await rejectedFault(engine.approve(gate_id, { principal: anaPerson }))).toMatchObject({
      code: "CHAIN_BROKEN",
    });
  });
});
