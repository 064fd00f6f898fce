import type { Json, JsonObject } from "../../core/values/json.ts";

/** A call of a tool in an answer of a scripted model. */
export interface ScriptedCall {
  /** Default: `call_<answer>_<index>`. */
  readonly id?: string;
  readonly tool: string;
  /** A text is sent as it is, also if it is no JSON. */
  readonly input: JsonObject | string;
}

/** An answer of a scripted model. */
export interface ScriptedAnswer {
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Answers with this HTTP status and an error instead. */
  readonly status?: number;
  /** Cuts the connection after this number of events of a stream, or of bytes of a whole answer. */
  readonly cutAfter?: number;
}

/** The answers of a model in order, or a function that chooses one. `answered`: the answers in the request's messages. */
export type ModelScript = readonly ScriptedAnswer[] | ((request: JsonObject, answered: number) => ScriptedAnswer);

/** An answer with the defaults filled in. */
export interface WholeAnswer {
  readonly id: string;
  readonly model: string;
  readonly text: string | null;
  readonly calls: readonly { readonly id: string; readonly tool: string; readonly arguments: string }[];
}

/** Returns the id of a call that has none in the script. */
export function callId(answered: number, index: number): string {
  return `call_${answered + 1}_${index + 1}`;
}

/** One event of a stream: its name, if the protocol has names, and its data. */
export interface StreamEvent {
  readonly event?: string;
  readonly data: Json;
}

/** The protocol of a provider. */
export interface ModelProtocol {
  /** Counts the answers of the model in the messages of a request. */
  answered(request: JsonObject): number;
  whole(answer: WholeAnswer): Json;
  stream(answer: WholeAnswer, request: JsonObject): readonly StreamEvent[];
  /** The line that ends a stream, or null. */
  readonly end: string | null;
}

/** Splits a text into short pieces, so that a client has to put them together. */
export function pieces(text: string): readonly string[] {
  return text.match(/.{1,7}/gsu) ?? [];
}

/** Returns the number of the answer that a request continues by its id, or null: the messages are the whole history. */
export function continuedAnswer(id: Json | undefined): number | null {
  const [, number] = (typeof id === "string" && /_answer_(\d+)$/u.exec(id)) || [];
  return number === undefined ? null : Number(number);
}

/** Counts the entries of a list of the request that satisfy a condition. */
export function countIn(list: Json | undefined, test: (entry: JsonObject) => boolean): number {
  return Array.isArray(list) ? (list as readonly JsonObject[]).filter((entry) => test(entry)).length : 0;
}
