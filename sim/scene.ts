import type { MemoryStore } from "../src/store/memory/memory-store.ts";
import type { Tables } from "../src/store/memory/tables.ts";
import type { Agenda } from "./agenda.ts";
import type { Counts } from "./counts.ts";
import type { Credit } from "./credit.ts";
import type { Limits } from "./limits.ts";
import type { Unsynced } from "./power.ts";
import type { RunRecord } from "./record.ts";
import type { Rng } from "./rng.ts";
import type { Rules } from "./rules.ts";
import type { Shelf } from "./shelf.ts";
import type { Standstill } from "./standstill.ts";
import type { Rates, Swarm } from "./swarm.ts";
import type { World } from "./world.ts";

/** What everyone in one simulation shares. */
export interface Scene {
  readonly seed: number;
  readonly rng: Rng;
  readonly swarm: Swarm;
  /** What its tenants may spend, and how often they may call; null: as they like. */
  readonly limits: Limits | null;
  /** Whose yes their calls take, and what is stopped and earned there; null: anybody's, and nothing. */
  readonly rules: Rules | null;
  readonly agenda: Agenda;
  readonly tables: Tables;
  readonly store: MemoryStore;
  readonly world: World;
  readonly record: RunRecord;
  readonly shelf: Shelf;
  readonly standstill: Standstill;
  readonly credit: Credit;
  readonly counts: Counts;
  /** The weather now: stormy, then calm. */
  rates: Rates;
  readonly unsynced: Unsynced;
  /** While this stays the same, no marker is lost. */
  boot: string;
  /** The power is about to go. */
  blackout: boolean;
  /** How often it went: what was on its way to the store before that never arrives. */
  powerCuts: number;
  newId(prefix: string): string;
  violate(law: string): void;
}
