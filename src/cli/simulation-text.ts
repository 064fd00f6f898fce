import { demandText } from "../core/approval/approval-demand.ts";
import type { CostEstimate } from "../core/limits/budget.ts";
import type { SimulatedStep, Simulation } from "../engine/api/engine-api.ts";
import { colouredState } from "./coloured-state.ts";
import { line, type SafeLine, shortValue, tableLines } from "./safe-line.ts";
import type { TextStyle } from "./text-style.ts";

/** Returns what a plan would do. */
export function simulationLines(simulation: Simulation, style: TextStyle): readonly SafeLine[] {
  const { status, steps, acts, gates, changes } = simulation;
  const rows = Object.entries(steps).map(([id, step]) => [line`${id}`, line`${step.would}`, wouldText(step)]);
  const final = acts.filter(({ reversible }) => !reversible).map(({ step_id }) => step_id);
  return [
    line`would be ${colouredState(status, style)}; no act was made`,
    ...tableLines(rows, "  "),
    ...gates.map(({ step_id, reason, demand }) => line`${step_id} asks for ${demandText(demand)}: ${reason}`),
    ...changes.map(
      ({ path, before, after }) => line`${path}: ${shortValue(before ?? null)} → ${shortValue(after ?? null)}`,
    ),
    ...acts.flatMap(({ step_id, caution }) => (caution === undefined ? [] : [line`caution, ${step_id}: ${caution}`])),
    ...(final.length === 0 ? [] : [line`cannot be undone: ${final.join(", ")}`]),
    ...costLines(simulation.cost),
  ];
}

function costLines({ least, most }: Simulation["cost"]): readonly SafeLine[] {
  if (most === null) return [line`the cost is unknown; at least ${amountsText(least)}`];
  const [from, to] = [amountsText(least), amountsText(most)];
  return to === "nothing" ? [] : [line`would cost ${from === to ? to : `${from} to ${to}`}`];
}

function amountsText(amounts: CostEstimate): string {
  const parts = Object.entries(amounts).flatMap(([unit, amount]) => (amount === 0 ? [] : [`${amount} ${unit}`]));
  return parts.join(", ") || "nothing";
}

function wouldText(step: SimulatedStep): SafeLine {
  switch (step.would) {
    case "succeed":
      return shortValue(step.output);
    case "act":
      return line`${step.needs_approval ? "after approval, " : ""}with ${shortValue(step.input)}`;
    case "fail":
      return line`${step.fault.code}: ${step.fault.message}`;
    case "unknown":
      return line`${step.why}`;
  }
}
