import type { Demand } from "../approval/approval-demand.ts";
import type { CostEstimate } from "../limits/budget.ts";
import type { LeanPlan } from "../plan/plan.ts";
import type { StateDifference } from "../state/state-difference.ts";
import type { Fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";

/** The record of a dry run: the plan, and what it would do. Nothing of it ran. */
export interface RunSimulated {
  readonly type: "run.simulated";
  readonly plan: LeanPlan;
  readonly simulation: Simulation;
}

/** Reports the calls that a plan would make. A simulation writes nothing. */
export interface Simulation {
  readonly status: "completed" | "failed" | "unknown";
  readonly steps: Readonly<Record<string, SimulatedStep>>;
  readonly acts: readonly {
    readonly step_id: StepId;
    readonly tool: string;
    readonly input: Json;
    readonly needs_approval: boolean;
    /** Whether its tool can undo it. */
    readonly reversible: boolean;
    /** A reason to look twice: the identity of the act may not be what it looks like. */
    readonly caution?: string;
  }[];
  /** The approvals that the plan would need. The simulation continues as if they were given. */
  readonly gates: readonly SimulatedGate[];
  /** The changes to the project's state. */
  readonly changes: readonly StateDifference[];
  /** The certain cost, and the highest cost by the tools' estimates. Null: a tool has no estimate. */
  readonly cost: { readonly least: CostEstimate; readonly most: CostEstimate | null };
}

export interface SimulatedGate {
  readonly step_id: StepId;
  readonly tool: string;
  readonly rule: string;
  readonly reason: string;
  readonly demand: Demand;
}

export type SimulatedStep =
  | { readonly would: "succeed"; readonly output: Json }
  /** `output`: the answer of the tool's preview. */
  | { readonly would: "act"; readonly input: Json; readonly needs_approval: boolean; readonly output?: Json }
  | { readonly would: "fail"; readonly fault: Fault }
  /** It depends on a value that only a real run can produce. */
  | { readonly would: "unknown"; readonly why: string };
