import { FaultError, fault } from "../../core/values/fault.ts";
import type { CheckpointRef } from "../api/state-api.ts";

/** Returns the id of the snapshot before or after a call. */
export function snapshotId({ runId, stepId, side }: CheckpointRef): string {
  return `${runId}/${stepId}/${side}`;
}

/** Returns the moment that the id of a snapshot names. Throws INVALID_INPUT if it names none. */
export function parseSnapshotId(id: string): CheckpointRef {
  const [, runId, stepId, side] = /^([^/]+)\/(.+)\/(before|after)$/s.exec(id) ?? [];
  if (runId !== undefined && stepId !== undefined && (side === "before" || side === "after"))
    return { runId, stepId, side };
  const message = `${id.slice(0, 200)} names no moment of this store; pass { runId, stepId, side }, or an id like <run>/<step>/before`;
  throw new FaultError(fault("INVALID_INPUT", message));
}
