import type { Intent } from "../../core/event/signal.ts";
import { checkJson, valueLimits } from "../../core/json/check-json.ts";
import { planLimits } from "../../core/plan/plan.ts";
import { isQueueName, queueNameRule } from "../../core/store/select-fairly.ts";
import { modes } from "../../core/values/effect.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import { isJsonObject, type JsonObject } from "../../core/values/json.ts";
import { labelProblems } from "./label-problems.ts";
import { runBudgetProblems } from "./limit-setting-problems.ts";
import type { SubmitOptions } from "./request-options.ts";

const textOptions = ["requestKey", "correlationId", "traceId", "project", "session"] as const;

/** The longest deadline. A run without a deadline omits the option. */
const DEADLINE_MS_MAX = 366 * 24 * 60 * 60 * 1000;

const PRIORITY_MAX = 1000;

/** Checks the options of a submission. Throws INVALID_INPUT with all reasons. */
export function readSubmitOptions<Options extends SubmitOptions>(
  given: Options,
): Options & { readonly context: JsonObject } {
  const context = checkJson(given.context ?? {}, planLimits);
  const intent = readIntent(given.intent);
  const reasons = [...intent.problems, ...textProblems(given), ...valueProblems(given), ...labelProblems(given)];
  if (given.budgets !== undefined) reasons.push(...runBudgetProblems(given.budgets));
  if (!context.ok) for (const { path, message } of context.reasons) reasons.push(`context${path}: ${message}`);
  else if (!isJsonObject(context.value)) reasons.push("context must be an object with the values of placeholders");
  if (reasons.length > 0) {
    throw new FaultError(fault("INVALID_INPUT", `the request was refused: ${reasons.join("; ")}`, { reasons }));
  }
  const read = { ...given, context: (context as { readonly value: JsonObject }).value };
  return intent.value === undefined ? read : { ...read, intent: intent.value };
}

/** Copies the intent: the caller may change its objects later. */
function readIntent(given: unknown): { readonly value?: Intent; readonly problems: readonly string[] } {
  if (given === undefined) return { problems: [] };
  const checked = checkJson(given, valueLimits);
  const form = "intent must be { type, payload, contexts }: a name and two objects";
  if (!checked.ok || !isJsonObject(checked.value)) return { problems: [form] };
  const { type, payload = {}, contexts = {}, ...unknown } = checked.value;
  const isValid = isName(type) && isJsonObject(payload) && isJsonObject(contexts) && Object.keys(unknown).length === 0;
  return isValid ? { value: { type: String(type), payload, contexts }, problems: [] } : { problems: [form] };
}

function textProblems(given: SubmitOptions): readonly string[] {
  return textOptions
    .filter((name) => given[name] !== undefined && !isName(given[name]))
    .map((name) => `${name} must be ${nameRule}`);
}

function valueProblems({
  mode,
  deadlineMs,
  queue,
  priority = 0,
  reads,
  confirmed,
  retryFailed = false,
}: SubmitOptions & { readonly reads?: string }): readonly string[] {
  const problems: string[] = [];
  if (mode !== undefined && !modes.includes(mode)) problems.push(`mode must be one of ${modes.join(", ")}`);
  if (reads !== undefined && !["recorded", "none", "live"].includes(reads))
    problems.push("reads must be recorded, none or live");
  if (typeof retryFailed !== "boolean") problems.push("retryFailed must be true or false");
  const isList =
    Array.isArray(confirmed) && confirmed.length <= planLimits.steps && Array.from(confirmed).every(isName);
  if (confirmed !== undefined && confirmed !== true && !isList) problems.push("confirmed must be true or ids of steps");
  if (queue !== undefined && !isQueueName(queue)) problems.push(`queue must be ${queueNameRule}`);
  if (!Number.isInteger(priority) || Math.abs(priority) > PRIORITY_MAX)
    problems.push(`priority must be a whole number, ${-PRIORITY_MAX} to ${PRIORITY_MAX}`);
  const whole = Number.isInteger(deadlineMs) && Number(deadlineMs) >= 1 && Number(deadlineMs) <= DEADLINE_MS_MAX;
  if (deadlineMs !== undefined && !whole)
    problems.push(`deadlineMs must be a whole number of milliseconds from now, 1 to ${DEADLINE_MS_MAX}`);
  return problems;
}
