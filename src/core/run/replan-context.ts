import { utf8Length } from "../json/check-json.ts";
import type { Mode } from "../values/effect.ts";
import type { Fault } from "../values/fault.ts";
import type { Instant, RunId, StepId } from "../values/ids.ts";
import type { Json, JsonObject } from "../values/json.ts";
import { isReplaced, isReplanStep } from "./plan-in-force.ts";
import type { Run } from "./run.ts";
import { isUndoStep, type Step } from "./step.ts";

/** The report about a run whose plan did not complete. A replanner gets it as input. It is JSON. */
export interface ReplanContext {
  readonly run_id: RunId;
  readonly plan_id: string | null;
  /** The number of this question, from 1, and how many may follow it. */
  readonly attempt: number;
  readonly attempts_left: number;
  /** The number of plans that have run. */
  readonly plans: number;
  readonly mode: Mode;
  readonly deadline_at: Instant | null;
  /** The context of the submission. */
  readonly context: JsonObject;
  /**
   * The state that the next plan starts from: as the steps so far have left it. `version` is the latest version that one
   * of them has read or made; null: none.
   */
  readonly state: { readonly version: number | null };
  /** The steps that failed or were refused. `replaced`: by a plan that was replaced before. */
  readonly failed: readonly ReportedFailure[];
  /** The steps whose outputs a new plan may bind. An output over 4 KB is left out; it can be bound all the same. */
  readonly succeeded: readonly ReportedSuccess[];
  /** The acts that happened, may have happened or were undone. An equal call is answered by the receipt. */
  readonly acts: readonly ReportedAct[];
  /** The steps that did not start. */
  readonly not_started: readonly StepId[];
  /** The answers of the replanner that were refused. */
  readonly refused: readonly { readonly attempt: number; readonly fault: Fault }[];
  /** The number of entries that the limits of this report have left out. Absent: none. */
  readonly omitted?: number;
}

export interface ReportedFailure {
  readonly step_id: StepId;
  readonly tool: string;
  readonly state: "failed_final" | "rejected" | "compensation_failed";
  readonly input?: Json;
  readonly fault: Fault;
  readonly replaced?: true;
}

export interface ReportedSuccess {
  readonly step_id: StepId;
  readonly tool: string;
  readonly output?: Json;
}

export interface ReportedAct {
  readonly step_id: StepId;
  readonly tool: string;
  /** The state of its ledger row: `committed`, `given_up`, `compensated` and so on. */
  readonly state: string;
  readonly input?: Json;
}

/** The limits of a report: bytes of one value, bytes of all values, and entries of one list. */
export const replanContextLimits = { value: 4096, values: 256 * 1024, entries: 1000 } as const;

/** Returns the report for the replanner, from the run alone. */
export function replanContext(run: Run, attempt: number): ReplanContext {
  const report = new RunReport();
  for (const step of run.steps) if (!isUndoStep(step)) report.add(run, step);
  const { replanning } = run;
  return {
    run_id: run.id,
    plan_id: run.plan?.plan_id ?? null,
    attempt,
    attempts_left: Math.max(0, (replanning?.terms?.attempts ?? attempt) - attempt),
    plans: replanning?.plans ?? 1,
    mode: run.mode,
    deadline_at: run.deadline_at,
    context: run.context,
    ...report.fields(),
  };
}

class RunReport {
  readonly #failed: ReportedFailure[] = [];
  readonly #succeeded: ReportedSuccess[] = [];
  readonly #acts: ReportedAct[] = [];
  readonly #notStarted: StepId[] = [];
  readonly #refused: { attempt: number; fault: Fault }[] = [];
  #version: number | null = null;
  #left: number = replanContextLimits.values;
  #omitted = 0;

  fields() {
    return {
      state: { version: this.#version },
      failed: this.#failed,
      succeeded: this.#succeeded,
      acts: this.#acts,
      not_started: this.#notStarted,
      refused: this.#refused,
      ...(this.#omitted > 0 && { omitted: this.#omitted }),
    };
  }

  add(run: Run, step: Step): void {
    const { spec, standing, cause, act, checkpoint, call } = step;
    const { step_id, name: tool, payload } = spec;
    if (isReplanStep(step)) {
      if (standing.state === "failed_final" && cause?.by === "replan")
        this.#put(this.#refused, { attempt: cause.attempt, fault: standing.fault });
      return;
    }
    const version = checkpoint?.after ?? checkpoint?.before ?? null;
    if (version !== null) this.#version = Math.max(version, this.#version ?? 0);
    const input = () => this.#value("input", call?.input ?? payload);
    if (act !== null) this.#put(this.#acts, { step_id, tool, state: act.state, ...input() });
    switch (standing.state) {
      case "succeeded":
        this.#put(this.#succeeded, { step_id, tool, ...this.#value("output", standing.output) });
        break;
      case "failed_final":
      case "rejected":
      case "compensation_failed": {
        const replaced = isReplaced(run, step) ? { replaced: true as const } : {};
        const { state, fault } = standing;
        this.#put(this.#failed, { step_id, tool, state, ...input(), fault, ...replaced });
        break;
      }
      case "skipped":
      case "cancelled":
        if (!isReplaced(run, step)) this.#put(this.#notStarted, step_id);
    }
  }

  #put<Entry>(list: Entry[], entry: Entry): void {
    if (list.length < replanContextLimits.entries) list.push(entry);
    else this.#omitted += 1;
  }

  /** Returns the value as a field, or no field if it is too large. */
  #value<Name extends "input" | "output">(name: Name, value: Json): { readonly [Field in Name]?: Json } {
    const bytes = utf8Length(JSON.stringify(value));
    if (bytes > replanContextLimits.value || bytes > this.#left) {
      this.#omitted += 1;
      return {};
    }
    this.#left -= bytes;
    return { [name]: value } as { readonly [Field in Name]?: Json };
  }
}
