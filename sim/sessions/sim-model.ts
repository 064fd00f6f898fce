import type { RunId } from "../../src/core/values/ids.ts";
import type { JsonObject } from "../../src/core/values/json.ts";
import type { ModelContext } from "../../src/engine/api/model-api.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionProcess } from "./session-process.ts";

/** A message of a conversation, in the form of OpenAI chat completions. */
export interface SimMessage extends JsonObject {
  readonly role: "system" | "user" | "assistant" | "tool";
}

/** A goal of a user, and the call that pursues it. */
export interface ModelGoal {
  readonly goal: string;
  readonly tool: string;
}

/** A call that an answer of the model asks for. The words differ in every answer; the goal is that of the user. */
export interface WantedCall {
  readonly id: string;
  readonly tool: string;
  readonly input: { readonly of: string; readonly words: number };
}

/** A request to the model by a run. */
interface SimRequest {
  readonly run: RunId;
  readonly messages: readonly SimMessage[];
  /** True: the program asks for a title, and for no calls. */
  readonly isTitle: boolean;
}

/** The error of a model that is not reached. */
export class ModelDownError extends Error {}

/** A user asks for goals. Another version of the same message is an edit. */
export function userMessage(goals: readonly ModelGoal[], version: number): SimMessage {
  return { role: "user", content: JSON.stringify({ goals, version }) };
}

export function assistantMessage(content: string, calls: readonly WantedCall[]): SimMessage {
  const tool_calls = calls.map(({ id, tool, input }) => ({
    id,
    type: "function",
    function: { name: tool, arguments: JSON.stringify(input) },
  }));
  return { role: "assistant", content, ...(calls.length > 0 && { tool_calls }) };
}

export function resultMessage({ id, input }: WantedCall, status: string): SimMessage {
  return { role: "tool", tool_call_id: id, content: JSON.stringify({ of: input.of, status }) };
}

/** A model whose answers differ each time that it is asked: other ids, other words, one call or two. */
export class SimModel {
  readonly #sim: SessionContext;
  #answers = 0;

  constructor(sim: SessionContext) {
    this.#sim = sim;
  }

  /** Answers a request as one process hears it. The answer may come whole or as a stream, be cut, or not come. */
  async ask(process: SessionProcess, { run, messages, isTitle }: SimRequest, context: ModelContext): Promise<unknown> {
    const { rng, counts } = this.#sim;
    counts.modelAsked += 1;
    await this.#step(process);
    context.signal.throwIfAborted();
    if (rng.chance(this.#sim.config.modelFails)) {
      counts.modelFailed += 1;
      throw new ModelDownError("the model is not reached");
    }
    const message = this.#answer(messages, isTitle);
    this.#sim.conversations.onAnswered(run, context.step_id, message);
    if (rng.chance(0.5)) return { id: `answer_${this.#answers}`, choices: [{ message }] };
    counts.modelStreams += 1;
    const isCut = rng.chance(this.#sim.config.modelFails);
    if (isCut) {
      counts.modelCut += 1;
      this.#sim.conversations.onCut(run, context.step_id);
    }
    return this.#stream(process, message, isCut);
  }

  /** The model asks for up to two goals of the last user that have no result yet. Without one, the answer is final. */
  #answer(messages: readonly SimMessage[], isTitle: boolean): SimMessage {
    const { rng } = this.#sim;
    this.#answers += 1;
    if (isTitle) return assistantMessage(`title ${this.#answers}`, []);
    const last = messages.findLastIndex(({ role }) => role === "user");
    const { goals } = JSON.parse(String(messages[last]?.content)) as { readonly goals: readonly ModelGoal[] };
    const results = messages.slice(last).filter(({ role }) => role === "tool");
    const done = new Set(results.map(({ content }) => (JSON.parse(String(content)) as { readonly of: string }).of));
    const left = goals.filter(({ goal }) => !done.has(goal)).slice(0, rng.between(1, 2));
    const calls = left.map(({ goal, tool }, index) => ({
      id: rng.chance(0.3) ? `call_${index}` : `call_${this.#answers}_${index}`, // Some providers number the calls of an answer.
      tool,
      input: { of: goal, words: this.#answers },
    }));
    return assistantMessage(`answer ${this.#answers}`, calls);
  }

  async *#stream(process: SessionProcess, message: SimMessage, isCut: boolean): AsyncIterable<JsonObject> {
    const calls = (message.tool_calls ?? []) as readonly JsonObject[];
    yield { choices: [{ delta: { role: "assistant", content: message.content ?? "" } }] };
    await this.#step(process);
    yield { choices: [{ delta: { tool_calls: calls.map((call, index) => ({ index, ...call })) } }] };
    await this.#step(process);
    if (!isCut) yield { choices: [{ delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }] };
  }

  #step({ number }: SessionProcess): Promise<void> {
    return new Promise((resolve) => {
      const execute = () => {
        resolve();
        return "answered";
      };
      this.#sim.scheduler.add({ name: "model", owner: number, about: "", execute });
    });
  }
}

/** Returns the calls that a recorded answer asks for, and its text. */
export function readSimAnswer(content: unknown): { readonly text: string; readonly calls: readonly WantedCall[] } {
  const { json, chunks } = content as { readonly json?: JsonObject; readonly chunks?: readonly JsonObject[] };
  const parts = json === undefined ? (chunks ?? []).map(({ choices }) => choices) : [json.choices];
  const messages = (parts as { readonly message?: SimMessage; readonly delta?: SimMessage }[][]).flatMap((choices) =>
    choices.map(({ message, delta }) => message ?? delta ?? ({} as SimMessage)),
  );
  const calls = messages.flatMap(({ tool_calls }) => (tool_calls ?? []) as readonly JsonObject[]);
  return {
    text: messages.map(({ content: text }) => text ?? "").join(""),
    calls: calls.map(({ id, function: named }) => {
      const { name, arguments: input } = named as { readonly name: string; readonly arguments: string };
      return { id: String(id), tool: name, input: JSON.parse(input) as WantedCall["input"] };
    }),
  };
}
