import type { EndStatus, Notice } from "../event/event.ts";
import type { ParentStep } from "../event/parent-step.ts";
import { utf8Length } from "../json/check-json.ts";
import { itemStepId } from "../plan/for-each.ts";
import { stepKinds } from "../plan/step-kinds.ts";
import type { RunId, StepId } from "../values/ids.ts";
import type { Json, JsonObject } from "../values/json.ts";
import { isReplaced } from "./plan-in-force.ts";
import type { Run } from "./run.ts";
import { type Step, stepPace } from "./step.ts";

/** Returns the key of the signal that reports the end of a child run to its parent step. The prefix is reserved. */
export function childEndSignal(child: RunId): string {
  return `${endPrefix}${child}`;
}

const endPrefix = "run:";

/** Returns the child run whose end this signal reports, or null for any other signal. */
export function awaitedChildRun(signal: string): RunId | null {
  return signal.startsWith(endPrefix) ? (signal.slice(endPrefix.length) as RunId) : null;
}

/** Makes the report of a child run to its parent step. "!" keeps its id apart from step notices: no step id has one. */
export function childRunReport(run: Run, { most_bytes, items }: ParentStep, status: EndStatus): Notice {
  const outputs = finalOutputs(run, most_bytes);
  const made = items === undefined ? { outputs: outputs ?? {} } : { items: itemOutputs(outputs ?? {}, items) };
  const report = { run_id: run.id, status, ...made, failed: failedSteps(run) };
  const payload = outputs === null ? { ...report, too_long: most_bytes } : report;
  return {
    notice_id: `${noticeIdPrefix(run)}_!report_${run.position + 1}`,
    topic: "run.ended",
    kin: "report",
    payload,
  };
}

/** Returns the outputs in the order of the items. Null: the step of the item was skipped. */
function itemOutputs(outputs: JsonObject, count: number): readonly Json[] {
  return Array.from({ length: count }, (_, at) => outputs[itemStepId(at)] ?? null);
}

/** Returns the outputs of the steps of the plan in force that no other step depends on, or null if they exceed `maxBytes`. */
function finalOutputs(run: Run, maxBytes: number): JsonObject | null {
  const { dependents } = run.order;
  const outputs: Record<string, Json> = {};
  let bytes = 0;
  for (const step of run.steps) {
    const { standing, spec, index, cause } = step;
    const last = cause === null && !isReplaced(run, step) && dependents[index]?.length === 0;
    if (!last || standing.state !== "succeeded") continue;
    bytes += utf8Length(JSON.stringify(standing.output));
    if (bytes > maxBytes) return null;
    outputs[spec.step_id] = standing.output;
  }
  return outputs;
}

const FAILURES_MAX = 10;

function failedSteps({ steps }: Run): Json {
  const failed: Json[] = [];
  for (const { standing, spec } of steps) {
    if (failed.length === FAILURES_MAX) break;
    if (standing.state !== "failed_final" && standing.state !== "rejected") continue;
    const { code, message } = standing.fault;
    failed.push({ step_id: spec.step_id, code, message });
  }
  return failed;
}

/** A cancelled run cancels its child runs, including those that may not have started yet. */
export function childCancelNotices(run: Run): readonly Notice[] {
  const notices: Notice[] = [];
  for (const step of run.steps) if (mayHaveChild(step)) notices.push(childCancelNotice(run, step));
  return [...notices, ...subAgentCancelNotices(run)];
}

/** A cancelled or closed run cancels the sub-agents of its calls that have not ended. */
export function subAgentCancelNotices(run: Run): readonly Notice[] {
  return leftAgentNotices(
    run,
    Array.from(run.steps).filter(({ standing }) => stepPace(standing) !== "done"),
  );
}

/** A branch cancels the sub-agents of all calls that it leaves: nothing below them starts any more. */
export function leftAgentNotices(run: Run, left: readonly Step[]): readonly Notice[] {
  const notices: Notice[] = [];
  for (const step of left) if (step.delegated !== null) notices.push(childCancelNotice(run, step, step.delegated));
  return notices;
}

/** Returns the notice to the sub-agents that a branch does not leave, if there are any: it has left acts. */
export function leftActsNotices(run: Run, left: readonly Step[]): readonly Notice[] {
  const leaves = new Set(left);
  if (!Array.from(run.steps).some((step) => step.delegated !== null && !leaves.has(step))) return [];
  const notice_id = `${noticeIdPrefix(run)}_!left_${run.position + 1}`;
  return [{ notice_id, topic: "run.branched", kin: "left_acts", payload: {} }];
}

function childCancelNotice(run: Run, { index, spec: { step_id } }: Step, child?: RunId): Notice {
  const notice_id = `${noticeIdPrefix(run)}_!cancel_${index}`;
  const payload = child === undefined ? { step_id } : { step_id, run_id: child };
  return { notice_id, topic: "run.cancelled", kin: "cancel", payload };
}

function mayHaveChild({ spec, standing }: Step): boolean {
  return stepKinds[spec.kind].startsRun && (standing.state === "ready" || standing.state === "waiting");
}

function noticeIdPrefix({ id }: Run): string {
  return `ntc_${id.slice("run_".length)}`;
}

/** A sub-agent: its run, and the call of its parent that it does. */
export interface SubAgent {
  readonly child: RunId;
  readonly step_id: StepId;
}

/** Returns the sub-agents of a run: those of its calls, and those that a branch has left and that are not reported. */
export function subAgentsOf({ steps, conversation }: Run): readonly SubAgent[] {
  const agents: SubAgent[] = [];
  for (const { delegated, spec } of steps)
    if (delegated !== null) agents.push({ child: delegated, step_id: spec.step_id });
  for (const [child, { step_id }] of conversation?.leftAgents ?? []) agents.push({ child: child as RunId, step_id });
  return agents;
}
