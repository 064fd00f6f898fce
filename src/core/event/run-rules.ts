import type { Digest } from "../values/ids.ts";

/** The static rules that a run is executed under: policies, guards, settings of tenants and limits of the engine. */
export interface RunRules {
  readonly digest: Digest;
  /** Only a person may let a worker with other rules continue the run. */
  readonly pinned?: true;
}

/** A worker with other rules than the run has claimed it, because no live worker had the rules of the run. */
export interface RulesChange {
  /** The rules of the run. Null for a run of an older version. */
  readonly from: Digest | null;
  /** The rules of the worker. */
  readonly to: Digest;
}
