import { modes } from "../../core/values/effect.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import { labelProblems } from "./label-problems.ts";
import type { OpenRunOptions } from "./open-run-api.ts";

const TEN_MINUTES_MS = 10 * 60 * 1000;
/** A process whose calls all rest answers much faster. */
const ASK_MS = 200;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Checks the options of a session and fills in the defaults. Throws INVALID_INPUT with all reasons. */
export function readOpenRunOptions<Options extends OpenRunOptions>(
  given: Options,
): Options & { readonly releaseMs: number; readonly waitMs: number } {
  const reasons = [...nameProblems(given), ...numberProblems(given), ...labelProblems(given)];
  if (given.mode !== undefined && !modes.includes(given.mode)) reasons.push(`mode must be one of ${modes.join(", ")}`);
  if (reasons.length > 0)
    throw new FaultError(fault("INVALID_INPUT", `the session was refused: ${reasons.join("; ")}`, { reasons }));
  return { ...given, releaseMs: given.releaseMs ?? TEN_MINUTES_MS, waitMs: given.waitMs ?? ASK_MS };
}

function nameProblems({ session, project, subject, agent, parent, traceId }: OpenRunOptions): readonly string[] {
  const problems: string[] = [];
  if (!isName(session)) problems.push(`session must be ${nameRule}`);
  if (project !== undefined && !isName(project)) problems.push(`project must be ${nameRule}`);
  if (subject !== undefined && !isName(subject)) problems.push(`subject must be ${nameRule}`);
  if (traceId !== undefined && !isName(traceId)) problems.push(`traceId must be ${nameRule}`);
  if (agent !== undefined && !isAgent(agent)) problems.push("agent must be { name, version? } of names");
  if (parent !== undefined && !isParent(parent)) problems.push("parent must be { runId, stepId } of a call");
  return problems;
}

function isAgent(agent: unknown): boolean {
  if (typeof agent !== "object" || agent === null) return false;
  const { name, version = "1", ...more } = agent as Readonly<Record<string, unknown>>;
  return isName(name) && isName(version) && Object.keys(more).length === 0;
}

function isParent(parent: unknown): boolean {
  if (typeof parent !== "object" || parent === null) return false;
  const { runId, stepId, ...more } = parent as Readonly<Record<string, unknown>>;
  return isName(runId) && isName(stepId) && Object.keys(more).length === 0;
}

function numberProblems({ deadlineMs, releaseMs, idleMs, waitMs }: OpenRunOptions): readonly string[] {
  return [
    ...numberProblem("deadlineMs", deadlineMs, 1, 366 * DAY_MS),
    ...numberProblem("releaseMs", releaseMs, 1, DAY_MS),
    ...numberProblem("idleMs", idleMs, 60_000, 10 * 366 * DAY_MS),
    ...numberProblem("waitMs", waitMs, 0, DAY_MS),
  ];
}

function numberProblem(name: string, value: number | undefined, least: number, most: number): readonly string[] {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return [];
  return [`${name} must be a whole number of milliseconds, ${least} to ${most}`];
}
