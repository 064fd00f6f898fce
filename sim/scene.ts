import type { MemoryStore } from "../src/store/memory/memory-store.ts";
import type { Tables } from "../src/store/memory/tables.ts";
import type { Agenda } from "./agenda.ts";
import type { Counts } from "./counts.ts";
import type { RunRecord } from "./record.ts";
import type { Rng } from "./rng.ts";
import type { Rates, Swarm } from "./swarm.ts";
import type { World } from "./world.ts";

/** What everyone in one simulation shares. */
export interface Scene {
  readonly seed: number;
  readonly rng: Rng;
  readonly swarm: Swarm;
  readonly agenda: Agenda;
  readonly tables: Tables;
  readonly store: MemoryStore;
  readonly world: World;
  readonly record: RunRecord;
  readonly counts: Counts;
  /** The weather now: stormy, then calm. */
  rates: Rates;
  /** While this stays the same, no marker is lost. */
  boot: string;
  newId(prefix: string): string;
  violate(law: string): void;
}
