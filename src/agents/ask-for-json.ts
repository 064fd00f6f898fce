import { readAnswerText } from "../core/model/read-answer-text.ts";
import { readModelAnswer } from "../core/model/read-model-answer.ts";
import type { ToolContext } from "../core/tool/tool.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { Json } from "../core/values/json.ts";

/** A question to a model. */
export interface PlanQuestion {
  /** The instructions, for the system prompt of the model. */
  readonly system: string;
  /** The message of the user. */
  readonly prompt: string;
  /** It aborts when the time of the call is over or the run is cancelled. Pass it on. */
  readonly signal: AbortSignal;
}

/**
 * Asks a model by any client, and returns its answer: the text, or the answer of OpenAI (chat completions or responses),
 * Anthropic, Gemini or the AI SDK as it is. The tokens that the answer reports are charged.
 */
export type AskPlanningModel = (question: PlanQuestion) => unknown;

/** Asks a model for JSON. Text around the JSON is ignored. */
export async function askForJson(
  ask: AskPlanningModel,
  question: Omit<PlanQuestion, "signal">,
  call: Pick<ToolContext, "signal" | "cost">,
): Promise<Json> {
  const given = await ask({ ...question, signal: call.signal });
  const answer = JSON.parse(JSON.stringify(given ?? null)) as Json;
  const { usage, broken } = readModelAnswer({ form: "json", json: answer });
  if (usage !== null) call.cost(usage);
  if (broken !== null) throw new FaultError(fault("ANSWER_INCOMPLETE", broken));
  const text = readAnswerText(answer);
  if (text === null) throw new FaultError(fault("TOOL_FAILED", "the answer of the model has no text"));
  return parseJsonIn(text);
}

/** Returns the first JSON object or list in a text. */
function parseJsonIn(text: string): Json {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)```/u.exec(text)?.[1] ?? text;
  const from = fenced.search(/[[{]/u);
  const to = Math.max(fenced.lastIndexOf("}"), fenced.lastIndexOf("]"));
  try {
    return JSON.parse(fenced.slice(from, to + 1)) as Json;
  } catch {
    const start = JSON.stringify(text.slice(0, 200));
    throw new FaultError(fault("TOOL_FAILED", `the answer of the model is not JSON: ${start}`));
  }
}
