import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { createEngine } from "../../../src/engine/engine.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { manualTimers } from "../../../src/testing/manual-timers.ts";
import { assertLands, workerA } from "../../../src/testing/store-contract/contract-rule.ts";
import { botAgent } from "../../engine/engine-fixture.ts";
import { scriptedTool } from "../../engine/scripted-tool.ts";
import { testDatabase } from "./test-database.ts";

const database = testDatabase();

/**
 * Counts the queries of a store: every call is one query, except a renewal of no leases. `waitForReplies` waits for
 * pending queries, so that time does not pass before their results arrive.
 */
function countQueries(real: Store): { readonly store: Store; queries(): number; waitForReplies(): Promise<boolean> } {
  const calls = new Set<Promise<unknown>>();
  let queries = 0;
  const members = Object.entries(real).map(([name, member]: [string, unknown]) => {
    if (typeof member !== "function" || ["watch", "changes", "close"].includes(name)) return [name, member] as const;
    const call = (...args: readonly unknown[]) => {
      if (name !== "renew" || (args[1] as readonly unknown[]).length > 0) queries += 1;
      const answer = Promise.resolve(member(...args));
      const settled: Promise<unknown> = answer.then(
        () => calls.delete(settled),
        () => calls.delete(settled),
      );
      calls.add(settled);
      return answer;
    };
    return [name, call] as const;
  });
  const waitForReplies = async (): Promise<boolean> => {
    const isUnderWay = calls.size > 0;
    await Promise.all(calls);
    return isUnderWay;
  };
  return { store: Object.fromEntries(members) as unknown as Store, queries: () => queries, waitForReplies };
}

describe("idle worker on Postgres with 10,000 parked runs", () => {
  it("sends less than one query a second", async () => {
    const clock = fakeClock();
    await database.query(
      `insert into writ.head (tenant, run, position) select 'tenant-' || n % 50, 'run-' || n, 1 from generate_series(1, 10000) n;
       insert into writ.due (tenant, run, at, queue) select 'tenant-' || n % 50, 'run-' || n, ${clock.now() + 86_400_000}, 'queue-' || n % 3
       from generate_series(1, 5000) n;
       insert into writ.need (tenant, run, need, queue, rank)
       select 'tenant-' || n % 50, 'run-' || n, 'fax@1:' || n % 7, 'default', 0 from generate_series(5001, 10000) n`,
    );
    const real = await postgres(database.url, { clock });
    const { store, queries, waitForReplies } = countQueries(real);
    const timers = manualTimers(clock, waitForReplies);
    const tools = [scriptedTool("send", () => ({})).tool];
    const engine = await createEngine({ store: { ...store, watch: () => () => {} }, timers, dice: () => 0.5, tools });
    onTestFinished(() => engine.close());
    const before = queries();
    await timers.pass(200_000);
    expect(queries() - before).toBeLessThan(200);
    expect(queries() - before).toBeGreaterThan(200 / 2); // Otherwise the runs of a dead worker would be found too late.
  });

  it("sends one query for all of its leases", async () => {
    await database.empty();
    const clock = fakeClock();
    const real = await postgres(database.url, { clock });
    const { store, queries, waitForReplies } = countQueries(real);
    const timers = manualTimers(clock, waitForReplies);
    const tools = [scriptedTool("send", () => new Promise(() => {}), { effect: "reads", timeoutMs: 3_600_000 }).tool];
    const engine = await createEngine({ store: { ...store, watch: () => () => {} }, timers, dice: () => 0.5, tools });
    for (let count = 0; count < 50; count += 1)
      await engine.submit({ steps: [{ step_id: "a", name: "send" }] }, { principal: botAgent });
    await timers.pass(10_000);
    const before = queries();
    await timers.pass(60_000);
    expect(queries() - before).toBeLessThan(60 * 2.5);
  });
});

describe("appends on Postgres", () => {
  it("do not wait behind waiting claims: they have their own connections", async () => {
    await database.empty();
    const store = await postgres(database.url, { connections: 3 });
    onTestFinished(() => store.close());
    const session = await database.session();
    onTestFinished(() => session.end());
    await session.query("begin; select pg_advisory_xact_lock(8247731, 0)");
    const claims = [1, 2, 3].map(() => store.claimDue(workerA, 1, { perTenant: 1 }));
    const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    while ((await database.query(waiting)).length === 0);
    await assertLands(store, { flush: "hard" });
    await session.query("commit");
    await Promise.all(claims);
  });
});
