import type { Step } from "../../../src/core/run/run.ts";
import { decisionWords } from "./decision-words.ts";
import type { Attempt, StepHistory } from "./step-history.ts";

/** The six stages of a call. */
export type StageName = "propose" | "admit" | "acquire" | "execute" | "commit" | "dispatch";

export interface Stage {
  readonly name: StageName;
  readonly outcome: "passed" | "stopped" | "now" | "not reached";
  /** The words of the journal about it. */
  readonly facts: readonly string[];
}

/** Returns the stages of the last attempt of a step, with what the journal says about each. */
export function stepStages(
  step: Step,
  history: StepHistory,
  isDelivered: (notice_id: string) => boolean,
): readonly Stage[] {
  const attempt = history.attempts.at(-1);
  const facts: Readonly<Record<StageName, readonly string[]>> = {
    propose: proposeFacts(step, history),
    admit: admitFacts(history),
    acquire: attempt === undefined ? [] : acquireFacts(attempt),
    execute: attempt === undefined ? [] : executeFacts(attempt),
    commit: commitFacts(step, history),
    dispatch: dispatchFacts(history, isDelivered),
  };
  const reached = reachedStage(step, attempt);
  return stageNames.map((name, at) => {
    const outcome = outcomeOf(at, reached);
    return { name, facts: outcome === "not reached" ? [] : facts[name], outcome };
  });
}

const stageNames: readonly StageName[] = ["propose", "admit", "acquire", "execute", "commit", "dispatch"];

interface ReachedStage {
  readonly at: number;
  readonly outcome: "passed" | "stopped" | "now" | "not reached";
}

function outcomeOf(at: number, reached: ReachedStage): Stage["outcome"] {
  if (at === reached.at) return reached.outcome;
  return at < reached.at ? "passed" : "not reached";
}

/** Returns the last stage that the step has reached, and what became of it there. */
function reachedStage({ standing }: Step, attempt: Attempt | undefined): ReachedStage {
  switch (standing.state) {
    case "pending":
    case "skipped":
      return { at: 0, outcome: "not reached" };
    case "ready":
      return { at: 0, outcome: "now" };
    case "waiting_approval":
    case "waiting":
      return { at: 1, outcome: "now" };
    case "rejected":
      return { at: 1, outcome: "stopped" };
    case "cancelled":
      return { at: attempt === undefined ? 1 : 3, outcome: "stopped" };
    case "running":
      return { at: 3, outcome: "now" };
    case "failed_retryable":
    case "failed_final":
    case "in_doubt":
      return { at: attempt === undefined ? 1 : 3, outcome: "stopped" };
    case "succeeded":
    case "compensating":
    case "compensated":
    case "compensation_failed":
      return { at: 5, outcome: "passed" };
    default:
      return standing satisfies never;
  }
}

function proposeFacts({ spec }: Step, { call, pin }: StepHistory): readonly string[] {
  const facts = [pin === null ? spec.name : `${spec.name}@${pin.version}`];
  if (call !== null) facts.push(`input ${call.digest.slice(0, 12)}`);
  if (call?.key) facts.push(`key ${call.key.slice(0, 12)}, by ${call.keyed_by}`);
  if (call?.caution !== undefined) facts.push(call.caution);
  return facts;
}

function admitFacts({ verdicts }: StepHistory): readonly string[] {
  const last = verdicts.at(-1);
  if (last === undefined) return [];
  return [
    `${decisionWords[last.decision]}${last.rule === null ? "" : ` by ${last.rule}`}${last.reason === "" ? "" : `: ${last.reason}`}`,
  ];
}

function acquireFacts({ captures }: Attempt): readonly string[] {
  return captures.length === 0 ? ["no files to capture"] : captures.map(({ resource }) => `captured ${resource}`);
}

function dispatchFacts({ notices }: StepHistory, isDelivered: (notice_id: string) => boolean): readonly string[] {
  if (notices.length === 0) return ["no notice to deliver"];
  return notices.map(
    ({ notice_id, topic }) => `${topic}: ${isDelivered(notice_id) ? "delivered" : "not delivered yet"}`,
  );
}

function executeFacts({ number, worker, external, outcome, fault }: Attempt): readonly string[] {
  const facts = [`attempt ${number} ${outcome}`];
  if (worker !== null) facts.push(`by the worker …${worker.slice(-8)}`);
  if (external) facts.push("by the host of the agent");
  if (fault !== null) facts.push(`${fault.code}: ${fault.message}`);
  return facts;
}

function commitFacts({ act }: Step, { changes }: StepHistory): readonly string[] {
  const facts: string[] = [];
  if (act !== null) facts.push(`ledger: ${act.state.replace("_", " ")}`);
  if (act?.receipt) facts.push(`receipt: event ${act.receipt}`);
  for (const { state, files } of changes) {
    if (state !== null) facts.push(`state version ${state.version}, ${state.patch.length} changes`);
    const changed = files.reduce((sum, { changed: paths }) => sum + paths, 0);
    if (changed > 0) facts.push(`${changed} files`);
  }
  return facts;
}
