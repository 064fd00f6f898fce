import { isJsonObject, type Json } from "../../core/values/json.ts";
import { callId, type ModelScript } from "../scripted-model/model-script.ts";
import type { ProgramAnswer } from "./adapter-under-test.ts";

/** A call of a script, with the arguments as they were parsed. Text that is no JSON stays text. */
export interface PlayedCall {
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
}

/**
 * Plays the answers of a script without a model, for an adapter whose calls come from elsewhere: makes the calls of each
 * answer side by side, and returns the last text and what `call` returned about each call.
 */
export async function playScript(
  script: ModelScript,
  call: (played: PlayedCall) => Promise<string>,
): Promise<ProgramAnswer> {
  const told: Record<string, string> = {};
  for (let answered = 0; ; answered += 1) {
    const { calls = [], text = null } = (typeof script === "function" ? script({}, answered) : script[answered]) ?? {};
    if (calls.length === 0) return { text, told };
    await Promise.all(
      calls.map(async ({ id: own, tool, input }, index) => {
        const id = own ?? callId(answered, index);
        told[id] = await call({ id, tool, input: argumentsOf(input) });
      }),
    );
  }
}

function argumentsOf(input: unknown): Json {
  if (typeof input !== "string") return isJsonObject(input as Json) ? (input as Json) : {};
  try {
    return JSON.parse(input) as Json;
  } catch {
    return input;
  }
}
