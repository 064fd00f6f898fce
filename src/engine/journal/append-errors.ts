import type { AppendResult } from "../../core/store/store.ts";
import { FaultError } from "../../core/values/fault.ts";

/** The epoch has moved: another worker holds the run. This worker stops and writes nothing more. */
export class FencedError extends Error {
  override readonly name = "Fenced";
}

/** The store did not take the acceptance of a new run, so the run does not exist. */
export class NotAcceptedError extends FencedError {}

/** A row that the command relied on is another one now. */
export class ConditionFailedError extends Error {
  override readonly name = "RowLost";
  readonly landing: AppendResult & { landed: false };

  constructor(landing: AppendResult & { landed: false }) {
    super(`a ${landing.why} condition failed`);
    this.landing = landing;
  }
}

/** The engine was closed, so the work did not end. */
export function isEngineClosed(error: unknown): boolean {
  return error instanceof FaultError && error.fault.code === "ENGINE_CLOSED";
}

/** True if the store failed or its answer was lost. The caller may try again later. */
export function isStoreFault(error: unknown): boolean {
  return error instanceof FaultError && error.fault.code.startsWith("STORE_");
}
