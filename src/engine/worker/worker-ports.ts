import type { Digest } from "../../core/values/ids.ts";
import type { CallPorts } from "../call/call-ports.ts";
import type { DoubtTimeLeft } from "./doubt-time-left.ts";
import type { WorkerLeases } from "./worker-leases.ts";

/** All services of an engine. Workers, messages and administration use most of them. */
export interface WorkerPorts extends CallPorts {
  readonly leases: WorkerLeases;
  readonly doubtTimes: DoubtTimeLeft;
  /** Keeps the process alive until the promise is settled: a caller awaits it. */
  keepAlive<Result>(awaited: Promise<Result>): Promise<Result>;
  /** Returns what this worker has now and others may lack. */
  offers(): readonly string[];
  /** The digest of the static rules of this engine. */
  readonly rulesDigest: Digest;
}
