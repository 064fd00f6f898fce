import type { Rules } from "../../core/call/guard.ts";
import type { Clock, Timers } from "../../core/ports/clock.ts";
import type { StateChange } from "../../core/state/state-change.ts";
import type { Store } from "../../core/store/store.ts";
import type { StatePoint } from "../../core/store/tables.ts";
import type { Instant, Tenant } from "../../core/values/ids.ts";
import type { Durability } from "../api/engine-limits.ts";
import type { Failpoints } from "../ports/failpoint.ts";
import type { Observers } from "./observers.ts";

/** The services that the journal uses. */
export interface JournalPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  /** A monotonic clock in milliseconds. */
  readonly stopwatch: () => number;
  /** The timers of sweeps and renewals, which keep no process alive. */
  readonly loopTimers: Timers;
  /** Runs `work` once after the callbacks of this turn of the event loop. */
  readonly endOfTurn: (work: () => void) => void;
  readonly failpoint: Failpoints;
  /** The compiled rules that decide commands. */
  readonly rules: Rules;
  readonly durability: Durability;
  readonly projects: ProjectStateCache;
  readonly observers: Observers;
}

/** The project states in memory, which the journal keeps in step with its appends. */
interface ProjectStateCache {
  /** Applies a committed change. `where` is the event that carries it. */
  applyChange(tenant: Tenant, change: StateChange, where: Omit<StatePoint, "commit">, at: Instant): void;
  /** Reads the latest version of a state, after an append lost to another version. */
  refresh(tenant: Tenant, key: string): Promise<void>;
  /** Marks every state to be read again before its next use. */
  markAllStale(): void;
}
