import { actsLatestFirst } from "../../../src/core/run/undo-report.ts";
import type { LedgerState } from "../../../src/core/store/tables.ts";
import type { RunView } from "./run-view.ts";

/** An act that an undo of the run would try to undo. */
export interface ActToUndo {
  readonly step_id: string;
  readonly tool: string;
  readonly state: LedgerState;
  readonly started_at: number;
  /** undo: its tool declares a compensation. keep: it declares none. done: it is undone. unknown: the server lacks it. */
  readonly outlook: "undo" | "keep" | "done" | "unknown";
  /** The steps that have used its output and succeeded. They stay as they are. */
  readonly usedBy: readonly string[];
}

/** Lists the acts that an undo concerns, in the order in which it undoes them: the latest first. */
export function blastRadius(view: RunView, compensates: (tool: string) => boolean | undefined): readonly ActToUndo[] {
  return actsLatestFirst(view.run).map(({ spec, standing, act, index }): ActToUndo => {
    const isUndone = standing.state === "compensated" || standing.state === "compensating";
    const can = compensates(spec.name);
    const outlook = isUndone ? "done" : can === undefined ? "unknown" : can ? "undo" : "keep";
    const { state, started_at } = act;
    return { step_id: spec.step_id, tool: spec.name, state, started_at, outlook, usedBy: usersOf(view, index) };
  });
}

function usersOf(view: RunView, index: number): readonly string[] {
  const used = (view.run.order.dependents[index] ?? []).map((dependent) => view.step(dependent));
  return used.filter(({ standing }) => standing.state === "succeeded").map(({ spec }) => spec.step_id);
}
