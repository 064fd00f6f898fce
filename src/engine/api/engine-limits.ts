/**
 * every: each append is synced to disk. power: everything shown outside survives a power cut. process: data survives a
 * crash of the process only.
 */
export type Durability = "every" | "power" | "process";

/** The limits of an engine. Each has a name, a default and its own fault code. */
export interface EngineLimits {
  /** Handlers that may run at once in this process. */
  readonly concurrency: number;
  /** The size of one output. */
  readonly outputBytes: number;
  /** How long a gate waits for a decision. */
  readonly gateMs: number;
  /** How long an approval stays valid. */
  readonly useWithinMs: number;
  /** Refused requests of one principal that are recorded in an hour of UTC. */
  readonly refusalsPerHour: number;
  /** Errands that one step may leave behind. */
  readonly errandsPerStep: number;
  /** Notices that one step may send. */
  readonly noticesPerStep: number;
  /** Changes that the handler of one step may record. */
  readonly changesPerStep: number;
  /** How long `onNotice` may take before the notice is delivered again. */
  readonly noticeMs: number;
  /** How many workers in a row may lose a run before it is parked as poison. */
  readonly takeovers: number;
  /** Calls that an agent may propose together. */
  readonly callsPerTurn: number;
  /** Calls that one handle of a session may propose in a minute. */
  readonly proposalsPerMinute: number;
  /** Steps of one run of a session. Then the next run of the session takes the calls. */
  readonly segmentSteps: number;
  /** Bytes of one run of a session, likewise. */
  readonly segmentBytes: number;
  /** How deep child runs may be nested. */
  readonly childDepth: number;
  /** Versions of a state that can be restored. */
  readonly checkpoints: number;
  /** Bytes of patches of a state that can be restored. */
  readonly checkpointBytes: number;
  /** A snapshot of a state is written after this many versions, so that a new worker need not read them all. */
  readonly snapshotVersions: number;
}

export const defaultLimits: EngineLimits = {
  concurrency: 100,
  outputBytes: 8 * 1024 * 1024,
  gateMs: 7 * 24 * 60 * 60 * 1000,
  useWithinMs: 24 * 60 * 60 * 1000,
  refusalsPerHour: 1000,
  errandsPerStep: 100,
  noticesPerStep: 100,
  changesPerStep: 1000,
  noticeMs: 60_000,
  takeovers: 3,
  callsPerTurn: 128,
  proposalsPerMinute: 60_000,
  segmentSteps: 5000,
  segmentBytes: 64 * 1024 * 1024,
  childDepth: 8,
  checkpoints: 100,
  checkpointBytes: 64 * 1024 * 1024,
  snapshotVersions: 100,
};
