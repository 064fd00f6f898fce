import { type Fault, fault } from "./fault.ts";
import type { Instant, RunId } from "./id.ts";
import type { Closure, Halt, HaltRow, Reach } from "./rows.ts";
import type { Run } from "./run.ts";
import type { Check, Put } from "./store.ts";

/** What is written into a journal of halts. */
export type HaltEvent = { readonly at: Instant; readonly by: string; readonly reason: string } & (
  | { readonly type: "halt.set"; readonly over: readonly Reach[] }
  | { readonly type: "halt.lifted"; readonly over: readonly Reach[] }
);

/** What someone who asks to begin has to know: whether that is halted or its project closed, and the rows that say so. */
export interface HaltFact {
  readonly halt: Halt | null;
  /** Null: the run's project is open, or it has none. */
  readonly closure: Closure | null;
  readonly checks: readonly Check[];
}

export const unhalted: HaltFact = { halt: null, closure: null, checks: [] };

export const noHalts: HaltRow = { halts: [] };

/** So many may stand at once: whoever begins anything looks at all of them. */
export const HALTS_MOST = 1000;

/** What becomes of the wish to halt or to go on; null: there is nothing to say; or why it cannot be. */
export function decideHalt({ halts }: HaltRow, wish: HaltEvent): HaltEvent | Fault | null {
  const stands = (over: Reach) => halts.some((halt) => halt.over === over);
  if (wish.type === "halt.lifted") {
    const over = wish.over.filter(stands);
    return over.length > 0 ? { ...wish, over } : fault("NOT_POSSIBLE", `nothing is halted there; nothing was lifted`);
  }
  const over = wish.over.filter((reach) => !stands(reach));
  if (halts.length + over.length > HALTS_MOST)
    return fault("LIMIT_EXCEEDED", `${halts.length} halts stand already; halt the tenant instead`);
  return over.length > 0 ? { ...wish, over } : null;
}

export function evolveHalts({ halts }: HaltRow, event: HaltEvent): HaltRow {
  const others = halts.filter(({ over }) => !event.over.includes(over));
  if (event.type === "halt.lifted") return { halts: others };
  const { by, reason, at } = event;
  return { halts: [...others, ...event.over.map((over) => ({ over, by, reason, at }))] };
}

/** The halt that keeps a run from beginning anything; null: none does. */
export function haltOver({ halts }: HaltRow, run: Descended): Halt | null {
  const reaches: readonly Reach[] = ["everything", "tenant", run.id, ...lineAbove(run)];
  return halts.find(({ over }) => reaches.includes(over)) ?? null;
}

type Descended = Pick<Run, "id" | "parent" | "forked">;

/** Whoever is halted does not go on under another name: neither as a run that it asked for nor as one that was forked from it. */
export function lineAbove({ parent, forked }: Descended): readonly RunId[] {
  return [parent, forked].flatMap((from) => (from === null ? [] : [from.run_id, ...(from.above ?? [])]));
}

/** Whether whoever lifts the halt tells this run, too: it finds those of its tenant, and those that the halted one asked for. */
export function isTold({ over }: Halt, { id, parent }: Descended): boolean {
  if (over === "tenant" || over === id) return true;
  return parent !== null && (parent.run_id === over || parent.above?.includes(over as RunId) === true);
}

/** The row of a journal of halts: every fact is a version of it, so that whoever decided by another one is told. */
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
