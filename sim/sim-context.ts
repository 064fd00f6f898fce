import type { Digest } from "../src/core/values/ids.ts";
import type { MemoryStore } from "../src/store/memory/memory-store.ts";
import type { MemoryTables } from "../src/store/memory/memory-tables.ts";
import type { Counters } from "./counters.ts";
import type { ExternalWorld } from "./external-world.ts";
import type { HaltModel } from "./halt-model.ts";
import type { JournalObserver } from "./journal-observer.ts";
import type { Rng } from "./rng.ts";
import type { FaultRates, SeedConfig } from "./seed-config.ts";
import type { SimLimits } from "./sim-limits.ts";
import type { SimRules } from "./sim-rules.ts";
import type { StateVersions } from "./state-versions.ts";
import type { TrustModel } from "./trust-model.ts";
import type { UnsyncedWrites } from "./unsynced-writes.ts";
import type { VirtualScheduler } from "./virtual-scheduler.ts";

/** The shared objects of one simulation. */
export interface SimContext {
  readonly seed: number;
  readonly rng: Rng;
  readonly config: SeedConfig;
  /** The budgets and rates of the tenants; null: none. */
  readonly limits: SimLimits | null;
  /** The rules for approvals, trust and halts; null: none. */
  readonly rules: SimRules | null;
  readonly scheduler: VirtualScheduler;
  readonly tables: MemoryTables;
  readonly store: MemoryStore;
  readonly world: ExternalWorld;
  readonly observer: JournalObserver;
  readonly stateVersions: StateVersions;
  readonly haltModel: HaltModel;
  readonly trustModel: TrustModel;
  readonly counts: Counters;
  /** The current fault rates: those of the seed, then none. */
  rates: FaultRates;
  readonly unsynced: UnsyncedWrites;
  /** Changes when the machine restarts and send markers may be lost. */
  boot: string;
  /** True if the power fails before the next step. */
  powerCut: boolean;
  /** The number of power cuts; a store call from before a power cut no longer arrives. */
  powerCuts: number;
  /** By number of a process: the digest of its rules. */
  readonly rulesOf: Map<number, Digest>;
  newId(prefix: string): string;
  violate(law: string): void;
}
