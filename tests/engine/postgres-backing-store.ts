import type { Store } from "../../src/core/store/store.ts";
import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { type FakeClock, fakeClock } from "../../src/testing/fake-clock.ts";
import { dumpPostgres } from "../store/postgres/postgres-dump.ts";
import { sharedTestDatabase } from "../store/postgres/test-database.ts";
import type { BackingStore, SqlRow } from "./engine-fixture.ts";

/** One database for all tests. Each begins with empty tables and its own clock; connections outlive their processes. */
export async function postgresBackingStore(): Promise<(clock: FakeClock) => BackingStore> {
  const made = await sharedTestDatabase();
  let now = fakeClock();
  const shared = await postgres(made.url, { clock: { now: () => now.now() } });
  let answeredLast = async (): Promise<boolean> => false;
  return (clock) => {
    const calls = new Set<Promise<unknown>>();
    const answered = async (): Promise<boolean> => {
      const isUnderWay = calls.size > 0;
      await Promise.all(calls);
      return isUnderWay;
    };
    now = clock;
    // Pending calls of the previous test would write while the tables are emptied.
    const emptied = answeredLast().then(() => made.empty());
    emptied.catch(() => {}); // Every call of the store awaits it and reports the error; a test may make no call.
    answeredLast = answered;
    const store = trackCalls(shared, calls, emptied);
    return {
      connect: () => store,
      dump: async () => dumpPostgres(made),
      sql: async (text) => {
        const client = await made.session();
        try {
          return ((await client.query(text)) as { readonly rows: readonly SqlRow[] }).rows;
        } finally {
          await client.end();
        }
      },
      whenAnswered: answered,
    };
  };
}

/** Wraps the store: tracks pending calls, and delays all calls until the tables are empty. */
function trackCalls(store: Store, calls: Set<Promise<unknown>>, emptied: Promise<void>): Store {
  const members = Object.entries(store).map(([name, member]: [string, unknown]) => {
    if (name === "close") return [name, async () => {}] as const;
    if (name === "watch") return [name, () => () => {}] as const; // There is no other writer.
    if (typeof member !== "function" || name === "changes") return [name, member] as const;
    const call = (...given: readonly unknown[]) => {
      const answer = emptied.then(() => member(...given));
      const over = answer.finally(() => calls.delete(over)).catch(() => {});
      calls.add(over);
      return answer;
    };
    return [name, call] as const;
  });
  return Object.fromEntries(members) as unknown as Store;
}
