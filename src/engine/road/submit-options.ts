import { modes } from "../../core/effect.ts";
import { FaultError, fault } from "../../core/fault.ts";
import { checkJson } from "../../core/json/check-json.ts";
import { isObject, type JsonObject } from "../../core/json/json.ts";
import { nearest } from "../../core/json/nearest.ts";
import { planLimits } from "../../core/plan/plan.ts";
import { isQueue, queueRule } from "../../core/turns.ts";
import type { SubmitOptions } from "../api.ts";
import { isName } from "../principal.ts";

const known = [
  "principal",
  "requestKey",
  "context",
  "mode",
  "deadlineMs",
  "queue",
  "priority",
  "correlationId",
  "traceId",
  "project",
  "session",
  "confirmed",
  "reads",
];
const texts = ["requestKey", "correlationId", "traceId", "project", "session"] as const;

/** The longest that a run can be given; whoever wants no end leaves the deadline out. */
const deadlineMsMax = 366 * 24 * 60 * 60 * 1000;

/** As many steps up or down as anyone can tell apart. */
const priorityMost = 1000;

/** Reads what came with a plan, or refuses it with every reason at once. A misspelt option must not pass for none. */
export function readOptions<Options extends SubmitOptions>(given: Options): Options & { readonly context: JsonObject } {
  const context = checkJson(given.context ?? {}, planLimits);
  const reasons = [...unknownOptions(given), ...textProblems(given), ...valueProblems(given)];
  if (!context.ok) for (const { path, message } of context.reasons) reasons.push(`context${path}: ${message}`);
  else if (!isObject(context.value)) reasons.push("context must be an object with the values of placeholders");
  if (reasons.length > 0) {
    throw new FaultError(fault("INVALID_INPUT", `the request was refused: ${reasons.join("; ")}`, { reasons }));
  }
  return { ...given, context: (context as { readonly value: JsonObject }).value };
}

function unknownOptions(given: object): string[] {
  return Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known);
      return meant === null ? `there is no option ${name}` : `there is no option ${name}; did you mean ${meant}?`;
    });
}

function textProblems(given: SubmitOptions): readonly string[] {
  return texts
    .filter((name) => given[name] !== undefined && !isName(given[name]))
    .map((name) => `${name} must be 1 to 200 printable characters`);
}

function valueProblems({
  mode,
  deadlineMs,
  queue,
  priority = 0,
  reads,
  confirmed,
}: SubmitOptions & { readonly reads?: string }): readonly string[] {
  const problems: string[] = [];
  // A mode that nobody knows would be stricter than none and forbid nothing.
  if (mode !== undefined && !modes.includes(mode)) problems.push(`mode must be one of ${modes.join(", ")}`);
  if (reads !== undefined && !["recorded", "none", "live"].includes(reads))
    problems.push("reads must be recorded, none or live");
  const isList =
    Array.isArray(confirmed) && confirmed.length <= planLimits.steps && Array.from(confirmed).every(isName);
  if (confirmed !== undefined && confirmed !== true && !isList) problems.push("confirmed must be true or ids of steps");
  if (queue !== undefined && !isQueue(queue)) problems.push(`queue must be ${queueRule}`);
  if (!Number.isInteger(priority) || Math.abs(priority) > priorityMost)
    problems.push(`priority must be a whole number, ${-priorityMost} to ${priorityMost}`);
  const whole = Number.isInteger(deadlineMs) && Number(deadlineMs) >= 1 && Number(deadlineMs) <= deadlineMsMax;
  if (deadlineMs !== undefined && !whole)
    problems.push(`deadlineMs must be a whole number of milliseconds from now, 1 to ${deadlineMsMax}`);
  return problems;
}
