import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Clock } from "../../../src/core/ports/clock.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { createEngine } from "../../../src/engine/engine.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { contractLeaseMs } from "../../../src/testing/store-contract/contract-rule.ts";
import { storeContract } from "../../../src/testing/store-contract/store-contract.ts";
import { anaPerson, botAgent } from "../../engine/engine-fixture.ts";
import { scriptedTool } from "../../engine/scripted-tool.ts";
import { type Pgbouncer, pgbouncerVersion, startPgbouncer } from "./pgbouncer.ts";
import { testDatabase } from "./test-database.ts";

const servers = 3;

if (pgbouncerVersion === null)
  process.stderr.write(
    "\nSKIPPED: the tests of pgbouncer. Install it (Debian: apt-get install pgbouncer), or name its program in WRIT_PGBOUNCER.\n\n",
  );

describe.skipIf(pgbouncerVersion === null)(`Postgres store behind pgbouncer ${pgbouncerVersion}`, () => {
  const database = testDatabase();
  let pooler: Pgbouncer;
  let clock: Clock = fakeClock();
  let store: Store;
  beforeAll(async () => {
    pooler = await startPgbouncer(database.url, servers);
    store = await postgres(pooler.url, { clock: { now: () => clock.now() }, leaseMs: contractLeaseMs });
  });
  afterAll(async () => {
    await store.close();
    await pooler.stop();
  });

  const checks = storeContract(async (setting) => {
    await database.empty();
    clock = setting.clock;
    return { ...store, close: async () => {} };
  });
  for (const { title, check } of checks) it(title, check);

  it("executes the runs of two engines that share it, each act once", async () => {
    await database.empty();
    const send = scriptedTool("send", () => ({ id: 1 }));
    const open = async () =>
      createEngine({ store: await postgres(pooler.url), tools: [send.tool], tenants: { acme: { mode: "auto_exec" } } });
    const engines = [await open(), await open()];
    const steps = [
      { step_id: "first", name: "send", payload: { to: "ana" } },
      { step_id: "second", name: "send", payload: { to: "bob" }, depends_on: ["first"] },
    ];
    const runs = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const engine = engines[at % 2];
        const run = await engine?.submit({ steps }, { principal: botAgent });
        return run?.result();
      }),
    );
    expect(runs.map((result) => result?.status)).toEqual(runs.map(() => "completed"));
    expect(send.calls).toHaveLength(2 * runs.length);
    expect((await engines[0]?.audit({ principal: anaPerson }))?.broken).toEqual([]);
    for (const engine of engines) await engine.close();
  });
});
