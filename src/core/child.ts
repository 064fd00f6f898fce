import type { EndStatus, Notice, Parent } from "./event.ts";
import type { RunId } from "./id.ts";
import { utf8Length } from "./json/check-json.ts";
import type { Json } from "./json/json.ts";
import type { Run } from "./run.ts";
import type { Step } from "./step.ts";

/** The signal that a run has ended, for the step that asked for it. Nobody else sends or awaits what begins like this. */
export function endSignal(child: RunId): string {
  return `${endPrefix}${child}`;
}

const endPrefix = "run:";

/** The other end of it: the run that a step waits for; null if it waits for something else. */
export function awaitedRun(signal: string): RunId | null {
  return signal.startsWith(endPrefix) ? (signal.slice(endPrefix.length) as RunId) : null;
}

/** What a run tells the step that asked for it. No step has an exclamation mark in its id, so that no notice of one has this id. */
export function report(run: Run, { most_bytes }: Parent, status: EndStatus): Notice {
  const outputs = lastOutputs(run, most_bytes);
  const told = { run_id: run.id, status, outputs: outputs ?? {}, failed: failures(run) };
  const payload = outputs === null ? { ...told, too_long: most_bytes } : told;
  return { notice_id: `${prefixOf(run)}_!report_${run.position + 1}`, topic: "run.ended", kin: "report", payload };
}

/** What its last steps answered: those that no other waits for. Null: it is more than the step that asked may have. */
function lastOutputs({ steps, dependents }: Run, mostBytes: number): Json {
  const outputs: Record<string, Json> = {};
  let bytes = 0;
  for (const { standing, spec, index, cause } of steps) {
    const last = cause === null && dependents[index]?.length === 0;
    if (!last || standing.state !== "succeeded") continue;
    bytes += utf8Length(JSON.stringify(standing.output));
    if (bytes > mostBytes) return null;
    outputs[spec.step_id] = standing.output;
  }
  return outputs;
}

/** So many are named at most. */
const FAILURES_NAMED = 10;

function failures({ steps }: Run): Json {
  const failed: Json[] = [];
  for (const { standing, spec } of steps) {
    if (failed.length === FAILURES_NAMED) break;
    if (standing.state !== "failed_final" && standing.state !== "rejected") continue;
    const { code, message } = standing.fault;
    failed.push({ step_id: spec.step_id, code, message });
  }
  return failed;
}

/** A run that is cancelled cancels those it has asked for: they may be under way, or about to be. */
export function farewells(run: Run): readonly Notice[] {
  const notices: Notice[] = [];
  for (const step of run.steps) if (mayHaveChild(step)) notices.push(farewell(run, step));
  return notices;
}

function farewell(run: Run, { index, spec: { step_id } }: Step): Notice {
  const notice_id = `${prefixOf(run)}_!cancel_${index}`;
  return { notice_id, topic: "run.cancelled", kin: "cancel", payload: { step_id } };
}

function mayHaveChild({ spec, standing }: Step): boolean {
  return spec.kind === "run" && (standing.state === "ready" || standing.state === "waiting");
}

function prefixOf({ id }: Run): string {
  return `ntc_${id.slice("run_".length)}`;
}
