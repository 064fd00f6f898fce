import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, type EngineFixture, sqlStoreKinds } from "./engine-fixture.ts";
import { neverAnswers, scriptedTool } from "./scripted-tool.ts";

type Forgery = readonly [table: string, change: string];

/** Changes of leases, epochs and markers that no event contradicts, so that the audit cannot find them. */
const forgeries: readonly Forgery[] = [
  ["lease", "epoch = epoch + 1000"],
  ["lease", "worker = 'wrk_forged'"],
  ["lease", "prior = 'wrk_forged'"],
  ["lease", "since = since + 1000000"],
  ["head", "epoch = epoch + 1000"],
  ["marker", "epoch = epoch + 1000"],
];

async function forge(stage: EngineFixture, store: string, [table, change]: Forgery): Promise<void> {
  await stage.sql(`update ${store === "Postgres" ? `writ.${table}` : table} set ${change}`);
}

const steps = [{ step_id: "pay", name: "pay", payload: { invoice: 1 } }];

/** The tables of SQLite and Postgres differ: one has no `prior`, the other no epoch of heads. */
async function columnExists(stage: EngineFixture, store: string, [table, change]: Forgery): Promise<boolean> {
  const [column] = change.split(" ");
  const found = await stage.sql(
    store === "Postgres"
      ? `select column_name as name from information_schema.columns where table_schema = 'writ' and table_name = '${table}'`
      : `select name from pragma_table_info('${table}')`,
  );
  return found.some(({ name }) => name === column);
}

describe.each(sqlStoreKinds)("forged lease, on $name", ({ name, newFixture }) => {
  it.each(forgeries)("of a dead worker (%s: %s) makes no act run a second time", async (...forgery) => {
    const stage = newFixture();
    const pay = scriptedTool("pay", neverAnswers, { identity: ["invoice"] });
    const first = await stage.open({ tools: [pay.tool] });
    const { run_id } = await first.submit({ steps }, { principal: botAgent });
    await stage.advance(100);
    expect(pay.calls).toHaveLength(1);
    await stage.crash();
    if (!(await columnExists(stage, name, forgery))) return;
    await forge(stage, name, forgery);
    stage.loseLeases();
    const second = await stage.open({ tools: [pay.tool] });
    for (let second = 0; second < 30; second += 1) await stage.advance(1000);
    expect(pay.calls).toHaveLength(1);
    const { steps: found } = await (await second.run(run_id, { principal: anaPerson })).now();
    expect(["in_doubt", "running"]).toContain(found.pay?.state);
  });

  it.each(forgeries)("of a live worker (%s: %s) makes no act run a second time", async (...forgery) => {
    const stage = newFixture();
    const pay = scriptedTool("pay", neverAnswers, { identity: ["invoice"] });
    const engine = await stage.open({ tools: [pay.tool] });
    const other = await stage.open({ tools: [pay.tool] });
    await engine.submit({ steps }, { principal: botAgent });
    await stage.advance(100);
    if (await columnExists(stage, name, forgery)) await forge(stage, name, forgery);
    for (let second = 0; second < 60; second += 1) await stage.advance(1000);
    expect(pay.calls).toHaveLength(1);
    await (await other.submit({ steps }, { principal: botAgent })).now();
    await stage.advance(1000);
    expect(pay.calls).toHaveLength(1);
  });
});
