import type { Grant } from "../../core/decide/command.ts";
import type { RunId, StepId, Tenant } from "../../core/values/ids.ts";

/** The attempt of an act. */
export interface ActAttempt {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly step: StepId;
  readonly attempt: number;
}

/**
 * The acts that this process may be executing: from their send marker until their handler has returned. A handler can
 * outlive the lease under which it was started.
 */
export class ActsInFlight {
  readonly #names = new Set<string>();

  add(act: ActAttempt): void {
    this.#names.add(actName(act));
  }

  delete(act: ActAttempt): void {
    this.#names.delete(actName(act));
  }

  has(act: ActAttempt): boolean {
    return this.#names.has(actName(act));
  }
}

export function actAttempt(
  { tenant, id: run }: { readonly tenant: Tenant; readonly id: RunId },
  { step_id: step, attempt }: Pick<Grant, "step_id" | "attempt">,
): ActAttempt {
  return { tenant, run, step, attempt };
}

function actName({ tenant, run, step, attempt }: ActAttempt): string {
  return `${tenant.length} ${tenant}${run} ${attempt} ${step}`;
}
