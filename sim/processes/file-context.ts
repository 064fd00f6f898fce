import type { Digest } from "../../src/core/values/ids.ts";
import type { Rng } from "../rng.ts";
import type { VirtualScheduler } from "../virtual-scheduler.ts";
import type { FileCounters } from "./file-counters.ts";
import type { FileObserver } from "./file-observer.ts";

/** The parameters of one seed. */
export interface FileConfig {
  readonly processes: number;
  readonly runs: number;
  readonly stepsPerRun: number;
  /** The rules that processes and runs have; with one, all have the same. */
  readonly rules: readonly Digest[];
  /** The tools, one for each process; none: every process executes every run. */
  readonly tools: readonly string[];
  readonly stallMs: number;
  readonly leaseMs: number;
  /** True if the stopwatch of a process counts the time in which its machine is suspended. */
  readonly countsSuspend: boolean;
  /** The probability of a disturbance per step. */
  readonly disturbed: number;
  readonly faultSteps: number;
}

/** The shared objects of one simulation. */
export interface FileContext {
  /** The path of the store. */
  readonly file: string;
  readonly rng: Rng;
  readonly config: FileConfig;
  readonly scheduler: VirtualScheduler;
  readonly observer: FileObserver;
  readonly counts: FileCounters;
  /** The wall clock, which may jump. */
  wallClock(): number;
  stopwatch(): number;
  /** The time in which the machine was not suspended. */
  awakeMs(): number;
  violate(law: string): void;
}
