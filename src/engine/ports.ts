import type { Notice } from "../core/event.ts";
import type { Guard } from "../core/guard.ts";
import type { RunId, WorkerId } from "../core/id.ts";
import type { Slice } from "../core/state/slice.ts";
import type { Store } from "../core/store.ts";
import type { Clock, Dice, Timers } from "../core/time/clock.ts";
import type { Projects } from "./desk/projects.ts";
import type { Resources } from "./desk/resources.ts";
import type { Failpoints } from "./failpoint.ts";
import type { Toolbox } from "./road/toolbox.ts";
import type { HaltBoard } from "./rules/halt-board.ts";
import type { Policies } from "./rules/policies.ts";
import type { NewId } from "./system.ts";
import type { Leases } from "./watch/leases.ts";
import type { Tenants } from "./watch/tenants.ts";

/** Everything an engine reaches for, passed in once. */
export interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly dice: Dice;
  /** What the chance that tools are given is made from, beside the call. */
  readonly seed: string;
  readonly newId: NewId;
  readonly worker: WorkerId;
  readonly leases: Leases;
  readonly toolbox: Toolbox;
  readonly tenants: Tenants;
  readonly slices: readonly Slice[];
  readonly projects: Projects;
  readonly resources: Resources;
  readonly guards: readonly Guard[];
  readonly policies: Policies;
  readonly halts: HaltBoard;
  /** Alerts of budgets that are known to have been told. */
  readonly alerted: Set<string>;
  readonly durability: Durability;
  readonly limits: Limits;
  readonly failpoint: Failpoints;
  /** Delivers a notice, at least once; null keeps them until someone does. */
  readonly onNotice: ((notice: Notice & { readonly run_id: RunId }) => Promise<void>) | null;
}

/** every: each append is synced. power: what was told outside survives a power cut. process: survives the process only. */
export type Durability = "every" | "power" | "process";

/** Every limit has a name, a default and a fault of its own. */
export interface Limits {
  /** Handlers running at once in this process. */
  readonly concurrency: number;
  readonly outputBytes: number;
  /** How long a gate waits for a decision. */
  readonly gateMs: number;
  /** How long a decided approval is good for. */
  readonly useWithinMs: number;
  readonly errandsPerStep: number;
  readonly noticesPerStep: number;
  /** How long whoever takes a notice may be silent before it is tried again. */
  readonly noticeMs: number;
  /** How many workers may take a run in turn from one that never let it go before the run is parked as poison. */
  readonly takeovers: number;
  /** How many runs may be above one that a step asks for. */
  readonly childDepth: number;
  /** How many versions of a project's state can be gone back to, and how many bytes of changes. */
  readonly checkpoints: number;
  readonly checkpointBytes: number;
  /** After so many versions of a project's state they are kept in one piece, for whoever comes cold. */
  readonly snapshotVersions: number;
}

export const defaultLimits: Limits = {
  concurrency: 100,
  outputBytes: 8 * 1024 * 1024,
  gateMs: 7 * 24 * 60 * 60 * 1000,
  useWithinMs: 24 * 60 * 60 * 1000,
  errandsPerStep: 100,
  noticesPerStep: 100,
  noticeMs: 60_000,
  takeovers: 3,
  childDepth: 8,
  checkpoints: 100,
  checkpointBytes: 64 * 1024 * 1024,
  snapshotVersions: 100,
};
