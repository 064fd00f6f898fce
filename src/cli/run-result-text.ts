import type { BlockedStep } from "../core/run/run-result.ts";
import type { StepReport } from "../core/run/step-report.ts";
import type { StepResult } from "../core/run/step-result.ts";
import { colouredState } from "./coloured-state.ts";
import { gateLines } from "./gate-text.ts";
import type { AdviceFacts } from "./load-advice-facts.ts";
import { type AdviceContext, adviceLines, type ShownResult } from "./run-advice.ts";
import { line, type SafeLine, shortValue, tableLines } from "./safe-line.ts";
import { simulationLines } from "./simulation-text.ts";
import { spentLines } from "./spent-text.ts";
import type { TextStyle } from "./text-style.ts";
import { timeText } from "./time-text.ts";

/** Returns the status of a run, its steps, and what can be done now. */
export function runResultLines(
  result: ShownResult,
  facts: AdviceFacts,
  context: AdviceContext,
  style: TextStyle,
): readonly SafeLine[] {
  const status = result.poison === undefined ? statusText(result) : "poison";
  const blocked = new Map(result.blocked_on.map((block) => [block.step_id as string, block]));
  const steps = result.results.map((step) => [
    line`${step.step_id}`,
    colouredState(step.state, style),
    line`${worldText(step.world)}`,
    stepText(step, blocked.get(step.step_id), style),
  ]);
  const { requester } = facts;
  return [
    line`${colouredState(status, style)}  ${result.run_id}${result.plan_id === null ? "" : `  plan ${result.plan_id}`}`,
    ...refusalLines(result),
    ...(result.simulation === undefined ? [] : simulationLines(result.simulation, style)),
    ...tableLines(steps, "  "),
    ...result.gates.flatMap((gate) => gateLines({ ...gate, requester }, context.commandLine, style)),
    ...adviceLines(result, facts, context, style),
    ...spentLines(result.spent),
  ];
}

/** A refused plan has no steps that could show the fault. */
function refusalLines({ refused, steps }: ShownResult): readonly SafeLine[] {
  if (refused === undefined || Object.keys(steps).length > 0) return [];
  return [line`  ${refused.code}: ${refused.message}`];
}

function statusText({ running, final, status, rejected, restored }: ShownResult): string {
  if (rejected) return "rejected";
  if (restored !== undefined) return "restored";
  if (running === true) return "running";
  return final || status !== "partial" ? status : "waiting";
}

function stepText(step: StepResult, blocked: BlockedStep | undefined, style: TextStyle): SafeLine {
  if (step.state === "succeeded") {
    const { reused } = step;
    const from =
      reused === undefined ? "" : `  (recorded by ${reused.step} of ${reused.run} at ${timeText(reused.at, style)})`;
    return line`${shortValue(step.output)}${from}`;
  }
  if (step.state === "waiting_approval") return line`${step.gate_id}`;
  if (step.state === "compensated") return line`${step.confirmed ? "undone and confirmed" : "undone, unconfirmed"}`;
  if (step.fault !== undefined) return line`${step.fault.code}: ${step.fault.message}${untilText(blocked, style)}`;
  return blocked === undefined ? line`` : line`${blocked.reason_code}${untilText(blocked, style)}`;
}

/** Returns how the step changed the world, or an empty text if it did not or its state says so. */
function worldText(world: StepReport["world"]): string {
  switch (world) {
    case "state_changed":
      return "changed state";
    case "side_effect_committed":
      return "acted";
    case "compensatable_failure":
      return "acted, can be undone";
    default:
      return "";
  }
}

function untilText(blocked: BlockedStep | undefined, style: TextStyle): string {
  return blocked?.until === undefined ? "" : `, until ${timeText(blocked.until, style)}`;
}
