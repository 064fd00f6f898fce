import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../src/core/store.ts";
import { createEngine } from "../src/engine/engine.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../src/testing/clock.ts";
import { ana, landed } from "../src/testing/store-contract/law.ts";
import { manualTimers } from "../src/testing/timers.ts";
import { database } from "./postgres/database.ts";
import { actor } from "./scenarios/cast.ts";
import { bot } from "./scenarios/stage.ts";

const made = database();

/** Every call of a store is one query, but to renew nothing is none. Time passes only when no query is under way. */
function counted(real: Store): { readonly store: Store; queries(): number; answered(): Promise<boolean> } {
  const calls = new Set<Promise<unknown>>();
  let queries = 0;
  const members = Object.entries(real).map(([name, member]: [string, unknown]) => {
    if (typeof member !== "function" || name === "watch" || name === "close") return [name, member] as const;
    const call = (...given: readonly unknown[]) => {
      if (name !== "renew" || (given[0] as readonly unknown[]).length > 0) queries += 1;
      const answer = Promise.resolve(member(...given));
      const over: Promise<unknown> = answer.then(
        () => calls.delete(over),
        () => calls.delete(over),
      );
      calls.add(over);
      return answer;
    };
    return [name, call] as const;
  });
  const answered = async (): Promise<boolean> => {
    const isUnderWay = calls.size > 0;
    await Promise.all(calls);
    return isUnderWay;
  };
  return { store: Object.fromEntries(members) as unknown as Store, queries: () => queries, answered };
}

describe("a worker with nothing to do, on Postgres with 10,000 parked runs", () => {
  it("asks less than one question a second", async () => {
    const clock = fakeClock();
    await made.query(
      `insert into writ.head (tenant, run, position) select 'tenant-' || n % 50, 'run-' || n, 1 from generate_series(1, 10000) n;
       insert into writ.due (tenant, run, at, queue) select 'tenant-' || n % 50, 'run-' || n, ${clock.now() + 86_400_000}, 'queue-' || n % 3
       from generate_series(1, 5000) n;
       insert into writ.need (tenant, run, need, queue, rank)
       select 'tenant-' || n % 50, 'run-' || n, 'fax@1:' || n % 7, 'default', 0 from generate_series(5001, 10000) n`,
    );
    const real = await postgres(made.url, { clock });
    const { store, queries, answered } = counted(real);
    const timers = manualTimers(clock, answered);
    const tools = [actor("send", () => ({})).tool];
    const engine = await createEngine({ store: { ...store, watch: () => () => {} }, timers, dice: () => 0.5, tools });
    onTestFinished(() => engine.close());
    const before = queries();
    await timers.pass(200_000);
    expect(queries() - before).toBeLessThan(200);
    expect(queries() - before).toBeGreaterThan(200 / 2); // Or nobody would notice a dead worker's runs in time.
  });

  it("asks one question for all that it holds, however many that are", async () => {
    await made.empty();
    const clock = fakeClock();
    const real = await postgres(made.url, { clock });
    const { store, queries, answered } = counted(real);
    const timers = manualTimers(clock, answered);
    const tools = [actor("send", () => new Promise(() => {}), { effect: "reads", timeoutMs: 3_600_000 }).tool];
    const engine = await createEngine({ store: { ...store, watch: () => () => {} }, timers, dice: () => 0.5, tools });
    for (let count = 0; count < 50; count += 1)
      await engine.submit({ steps: [{ step_id: "a", name: "send" }] }, { principal: bot });
    await timers.pass(10_000);
    const before = queries();
    await timers.pass(60_000);
    expect(queries() - before).toBeLessThan(60 * 2.5);
  });
});

describe("appends on Postgres", () => {
  it("do not wait behind claims that wait: they have connections of their own", async () => {
    await made.empty();
    const store = await postgres(made.url, { connections: 3 });
    onTestFinished(() => store.close());
    const session = await made.session();
    onTestFinished(() => session.end());
    await session.query("begin; select pg_advisory_xact_lock(8247731, 0)");
    const claims = [1, 2, 3].map(() => store.claimDue(ana, 1, { perTenant: 1 }));
    const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    while ((await made.query(waiting)).length === 0);
    await landed(store, { flush: "hard" });
    await session.query("commit");
    await Promise.all(claims);
  });
});
