import type { Command } from "../../core/decide/command.ts";
import type { Decision } from "../../core/decide/decide.ts";
import type { StepsInFlight } from "../../core/event/event.ts";
import type { Run } from "../../core/run/run.ts";
import { FencedError } from "../journal/append-errors.ts";
import type { LeasedRun } from "./leased-run.ts";

/** Makes a command for the current run. `inFlight` is "unknown" unless this engine leases the run. */
export type MakeOutsideCommand = (inFlight: StepsInFlight, run: Run) => Command;

/**
 * Decides a command in the mailbox of a leased run. Null: the lease is lost, or the decision has no events. A decision
 * without an append cannot detect a lost lease, so it is made again on the stored run.
 */
export async function askLeasedRun(leased: LeasedRun, make: MakeOutsideCommand): Promise<Decision | null> {
  try {
    const calls = leased.callsStarted;
    const decision = await leased.mailbox.ask((run) => make(leased.inFlight(calls), run));
    return decision.events.length > 0 ? decision : null;
  } catch (error) {
    if (!(error instanceof FencedError)) throw error;
    leased.fence();
    return null;
  }
}
