import type { Run } from "../run/run.ts";
import type { Check, Put } from "../store/store.ts";
import type { Halt, HaltRow, HaltScope, ProjectLock } from "../store/tables.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { HeldIn } from "../values/held-in.ts";
import type { Instant, RunId } from "../values/ids.ts";

/** An event in a journal of halts. */
export type HaltEvent = { readonly at: Instant; readonly by: string; readonly reason: string } & HeldIn &
  (
    | { readonly type: "halt.set"; readonly over: readonly HaltScope[] }
    | { readonly type: "halt.lifted"; readonly over: readonly HaltScope[] }
  );

/** The fact that a starting call needs: the halt and the project lock that apply, and the rows they were read from. */
export interface HaltFact {
  readonly halt: Halt | null;
  /** Null: the run's project is open, or it has none. */
  readonly closure: ProjectLock | null;
  readonly checks: readonly Check[];
}

export const notHalted: HaltFact = { halt: null, closure: null, checks: [] };

export const noHalts: HaltRow = { halts: [] };

/** The maximum number of halts in force, because every starting call reads all of them. */
export const HALTS_MAX = 1000;

/** Returns the event for a request to halt or to lift, null if it changes nothing, or the fault. */
export function decideHalt({ halts }: HaltRow, request: HaltEvent): HaltEvent | Fault | null {
  const isHalted = (over: HaltScope) => halts.some((halt) => halt.over === over);
  if (request.type === "halt.lifted") {
    const over = request.over.filter(isHalted);
    return over.length > 0
      ? { ...request, over }
      : fault("NOT_POSSIBLE", "nothing is halted there; nothing was lifted; list the halts to see which there are");
  }
  const over = request.over.filter((scope) => !isHalted(scope));
  if (halts.length + over.length > HALTS_MAX)
    return fault("LIMIT_EXCEEDED", `${halts.length} halts are already in force; halt the tenant instead`);
  return over.length > 0 ? { ...request, over } : null;
}

export function evolveHalts({ halts }: HaltRow, event: HaltEvent): HaltRow {
  const others = halts.filter(({ over }) => !event.over.includes(over));
  if (event.type === "halt.lifted") return { halts: others };
  const { by, reason, at } = event;
  return { halts: [...others, ...event.over.map((over) => ({ over, by, reason, at }))] };
}

/** Returns a halt that applies to a run, or null. */
export function findHalt({ halts }: HaltRow, run: RunAncestry): Halt | null {
  const scopes: readonly HaltScope[] = ["everything", "tenant", run.id, ...ancestorRuns(run)];
  return halts.find(({ over }) => scopes.includes(over)) ?? null;
}

type RunAncestry = Pick<Run, "id" | "parent" | "forked">;

/**
 * Returns the runs from which a run descends, as a child run or as a fork: a halt of one of them also halts the run.
 */
export function ancestorRuns({ parent, forked }: RunAncestry): readonly RunId[] {
  return [parent, forked].flatMap((from) => (from === null ? [] : [from.run_id, ...(from.above ?? [])]));
}

/** True if lifting the halt wakes this run: it wakes the runs of the tenant, or the halted run and its child runs. */
export function isNotifiedOnLift({ over }: Halt, { id, parent }: RunAncestry): boolean {
  if (over === "tenant" || over === id) return true;
  return parent !== null && (parent.run_id === over || parent.above?.includes(over as RunId) === true);
}

/** Returns the row of a journal of halts. Each event is a version of it, so that a check of an older version fails. */
export function haltPut(journal: RunId, row: HaltRow, position: number): Put {
  const was = position === 1 ? null : position - 1;
  return { table: "setting", key: journal, was, row: JSON.stringify(row) };
}

export function haltPuts(journal: RunId, events: readonly HaltEvent[]): readonly Put[] {
  let row = noHalts;
  return events.map((event, index) => {
    row = evolveHalts(row, event);
    return haltPut(journal, row, index + 1);
  });
}
