import type { ModelContent } from "../core/model/model-content.ts";
import type { StepId } from "../core/values/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";

/**
 * Returns an answer of a model in which every call has an id of its own. If a call has no id, or repeats the id of an
 * earlier call, a client library gives it a random id, and a restarted process could not find the call by it. So the
 * answer that is handed over names such a call by its place: `writ-<step>-<n>`, or the repeated id with `-writ-<n>`. The
 * record keeps the original.
 */
export function withDistinctIds<Content extends ModelContent>(content: Content, step: StepId): Content {
  const ids = new CallIds(step);
  if (content.form === "text") return { ...content, text: ids.inEventStream(content.text) };
  return content.form === "json" ? { ...content, json: ids.inAnswer(content.json) } : content;
}

/** Returns the id that the model gave a call. */
export function originalCallId(id: string): string {
  return /^(?<original>.+)-writ-\d+$/u.exec(id)?.groups?.original ?? id;
}

/** A call of an answer whose parts come one after another. */
interface OpenCall {
  readonly id: string;
  readonly given: string;
  arguments: string;
}

class CallIds {
  readonly #step: StepId;
  readonly #used = new Set<string>();
  /** The last call at each place of a stream. */
  readonly #open = new Map<string, OpenCall>();
  #count = 0;

  constructor(step: StepId) {
    this.#step = step;
  }

  inEventStream(text: string): string {
    return text.replaceAll(/^data:(.*)$/gmu, (line, data: string) => {
      const event = parsed(data);
      const named = event === undefined ? event : this.inAnswer(event);
      return named === event ? line : `data: ${JSON.stringify(named)}`;
    });
  }

  /** Reads a whole answer or an event of a stream: chat completions of OpenAI, or Gemini. Others always have ids. */
  inAnswer(answer: Json): Json {
    if (!isJsonObject(answer)) return answer;
    const choices = mapObjects(answer.choices, (choice) => this.#inChoice(choice));
    const candidates = mapObjects(answer.candidates, (candidate) => this.#inCandidate(candidate));
    return withFields(answer, { choices, candidates });
  }

  #inChoice(choice: JsonObject): JsonObject {
    const { delta, message, index = 0 } = choice;
    if (isJsonObject(message)) {
      const tool_calls = mapObjects(message.tool_calls, (call) => withFields(call, { id: this.#next(call.id) }));
      return withFields(choice, { message: withFields(message, { tool_calls }) });
    }
    if (!isJsonObject(delta)) return choice;
    const tool_calls = mapObjects(delta.tool_calls, (part) => this.#inDelta(part, String(index)));
    return withFields(choice, { delta: withFields(delta, { tool_calls }) });
  }

  /** The first part of a call names its tool. A part that names it again continues the call while that is not whole. */
  #inDelta(part: JsonObject, choice: string): JsonObject {
    const { name, arguments: text } = isJsonObject(part.function) ? part.function : ({} as JsonObject);
    const place = `${choice} ${String(part.index ?? "")}`;
    const given = idIn(part.id);
    const open = this.#open.get(place);
    const continues = open !== undefined && (given === "" || given === open.given) && !isWhole(open.arguments);
    const isNew = typeof name === "string" && name.trim() !== "" && !continues;
    const call = isNew || open === undefined ? { id: this.#next(part.id), given, arguments: "" } : open;
    if (typeof text === "string") call.arguments += text;
    this.#open.set(place, call);
    return isNew || given !== "" ? withFields(part, { id: call.id }) : part;
  }

  #inCandidate(candidate: JsonObject): JsonObject {
    const { content } = candidate;
    if (!isJsonObject(content)) return candidate;
    const parts = mapObjects(content.parts, (part) => {
      const { functionCall } = part;
      if (!isJsonObject(functionCall)) return part;
      return withFields(part, { functionCall: withFields(functionCall, { id: this.#next(functionCall.id) }) });
    });
    return withFields(candidate, { content: withFields(content, { parts }) });
  }

  #next(given: Json | undefined): string {
    this.#count += 1;
    const id = idIn(given);
    const named = id === "" ? `writ-${this.#step}-${this.#count}` : id;
    const own = this.#used.has(named) ? `${named}-writ-${this.#count}` : named;
    this.#used.add(own);
    return own;
  }
}

function idIn(id: Json | undefined): string {
  return typeof id === "string" ? id.trim() : "";
}

function isWhole(text: string): boolean {
  return parsed(text) !== undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Returns the list itself if no object of it changes. */
function mapObjects(list: Json | undefined, change: (value: JsonObject) => JsonObject): Json | undefined {
  if (!Array.isArray(list)) return list;
  const changed = (list as readonly Json[]).map((value) => (isJsonObject(value) ? change(value) : value));
  return changed.some((value, at) => value !== list[at]) ? changed : list;
}

/** Returns the same object if it already has these fields. An undefined field counts as absent. */
function withFields(value: JsonObject, fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  const changed = Object.entries(fields).filter(([name, field]) => field !== undefined && field !== value[name]);
  return changed.length === 0 ? value : { ...value, ...(Object.fromEntries(changed) as JsonObject) };
}
