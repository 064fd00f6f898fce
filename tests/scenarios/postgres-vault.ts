import type { Store } from "../../src/core/store.ts";
import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { type FakeClock, fakeClock } from "../../src/testing/clock.ts";
import { keptDatabase } from "../postgres/database.ts";
import { dumpOf } from "../postgres/dump.ts";
import type { Vault } from "./stage.ts";

/** Postgres for all stories: each begins with empty tables and its own time; connections outlive their processes. */
export async function postgresVault(): Promise<(clock: FakeClock) => Vault> {
  const made = await keptDatabase();
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
    // What the last story left under way would meet the emptying half-way.
    const emptied = answeredLast().then(() => made.empty());
    emptied.catch(() => {}); // Who asks for something is told; a story that asks for nothing may be over before.
    answeredLast = answered;
    const store = counted(shared, calls, emptied);
    return {
      connect: () => store,
      dump: async () => dumpOf(made),
      answered,
    };
  };
}

/** The store, with every call under way in a list, and none before the tables are empty. */
function counted(store: Store, calls: Set<Promise<unknown>>, emptied: Promise<void>): Store {
  const members = Object.entries(store).map(([name, member]: [string, unknown]) => {
    if (name === "close") return [name, async () => {}] as const;
    if (name === "watch") return [name, () => () => {}] as const; // Nobody else writes.
    if (typeof member !== "function") return [name, member] as const;
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
