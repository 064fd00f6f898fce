import { type CallAnswer, modelText } from "../core/run/call-answer.ts";
import { FaultError } from "../core/values/fault.ts";
import type { Json, JsonObject } from "../core/values/json.ts";
import { schemaFrom } from "../schema/schema-from.ts";
import type { CallsMadeAgain } from "./calls-made-again.ts";
import type { FrameworkTool } from "./framework-tool.ts";
import type { Governed } from "./governed.ts";

/** A message of JSON-RPC between a host and a server in this process. */
interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly message: string };
}

interface Transport {
  start(): Promise<void>;
  send(message: Message): Promise<void>;
  close(): Promise<void>;
  onmessage?: (message: Message, extra?: unknown) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
}

export interface InProcessServer {
  connect(transport: Transport): Promise<void>;
}

/**
 * The server checks the input by this schema after a person has approved the call. Writ checks it before, if it can read
 * the schema.
 */
function schemaTerms(schema: Json): Pick<FrameworkTool, "input" | "checks"> {
  try {
    schemaFrom(schema as JsonObject);
    return { checks: schema as JsonObject };
  } catch (error) {
    if (error instanceof FaultError && error.fault.code === "SCHEMA_UNUSABLE") return { input: schema };
    throw error;
  }
}

/** The calls of a server as they pass between a host and the tools of the server. */
interface ServerTerms {
  readonly governed: Governed;
  readonly calls: CallsMadeAgain;
  /** Returns the name of a tool on record. */
  toolName(tool: string): string;
  /** Returns the id of the call that a request carries. Undefined: it carries none, so the call is not made. */
  callId(meta: Json | undefined): Json | undefined;
}

/**
 * Governs the tools of an MCP server in this process. The server stays connected when its host leaves, so that a call
 * that a person approves later is made.
 */
export class GovernedServer {
  readonly #server: InProcessServer;
  readonly #terms: ServerTerms;
  #transport: GovernedTransport | null = null;

  constructor(server: InProcessServer, terms: ServerTerms) {
    this.#server = server;
    this.#terms = terms;
  }

  /** The server for one query of the host. */
  forQuery(signal: AbortSignal | undefined): InProcessServer {
    const connect = async (outer: Transport) => {
      if (this.#transport === null) {
        this.#transport = new GovernedTransport(this.#terms);
        this.#transport.attach(outer, signal);
        await this.#server.connect(this.#transport);
      } else {
        this.#transport.attach(outer, signal);
        await outer.start();
      }
    };
    return Object.assign(Object.create(this.#server) as InProcessServer, { connect });
  }
}

/** Passes every message on, except for calls of tools: the session makes those. */
class GovernedTransport implements Transport {
  onmessage?: (message: Message, extra?: unknown) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  #outer: Transport | null = null;
  #signal: AbortSignal | undefined;
  readonly #terms: ServerTerms;
  readonly #lists = new Set<Message["id"]>();
  readonly #results = new Map<Message["id"], (message: Message) => void>();
  #passed = 0;

  constructor(terms: ServerTerms) {
    this.#terms = terms;
  }

  attach(outer: Transport, signal: AbortSignal | undefined): void {
    this.#outer = outer;
    this.#signal = signal;
    outer.onmessage = (message, extra) => this.#receive(outer, message, extra);
    outer.onerror = (error) => this.onerror?.(error);
  }

  async start(): Promise<void> {
    await this.#outer?.start();
  }

  async close(): Promise<void> {
    await this.#outer?.close();
  }

  async send(message: Message): Promise<void> {
    const waiting = message.method === undefined ? this.#results.get(message.id) : undefined;
    if (waiting !== undefined) return waiting(message);
    if (message.method === undefined && this.#lists.delete(message.id)) this.#declare(message.result?.tools);
    await this.#outer?.send(message);
  }

  #receive(outer: Transport, message: Message, extra: unknown): void {
    if (message.method === "tools/list") this.#lists.add(message.id);
    if (message.method !== "tools/call") {
      this.onmessage?.(message, extra);
      return;
    }
    const reply = (result: JsonObject) => outer.send({ jsonrpc: "2.0", id: message.id, result } as Message);
    void this.#call(message, extra).then(reply, (error: Error) => reply(textResult(error.message, true)));
  }

  #declare(tools: Json | undefined): void {
    const list = Array.isArray(tools) ? (tools as readonly JsonObject[]) : [];
    this.#terms.governed.declare(
      list.map(({ name, description, inputSchema }) => ({
        name: this.#terms.toolName(String(name)),
        ...(typeof description === "string" && { description }),
        ...(inputSchema !== undefined && schemaTerms(inputSchema)),
      })),
    );
  }

  async #call(message: Message, extra: unknown): Promise<JsonObject> {
    const { governed, calls } = this.#terms;
    const signal = this.#signal;
    const { name, arguments: input = {}, _meta: meta } = message.params ?? {};
    const id = this.#terms.callId(meta);
    if (typeof id !== "string") throw new Error("the host passed no id of the call, so it is not made");
    const call = calls.find({ id, tool: this.#terms.toolName(String(name)), input, agent: undefined });
    const handler = async (given: unknown) => {
      const result = await this.#run({ ...message, params: { ...message.params, arguments: given as Json } }, extra);
      if (result.isError === true) throw new Error(textIn(result.content));
      return result;
    };
    const answer = await governed.call(call, handler, signal === undefined ? {} : { signal });
    calls.answered(id, typeof call.turn === "string" ? call.turn : undefined, answer);
    return resultOf(answer);
  }

  /** Lets the server run the call itself. */
  async #run(message: Message, extra: unknown): Promise<JsonObject> {
    this.#passed += 1;
    const id = `writ-${this.#passed}`;
    const { result, error } = await new Promise<Message>((resolve) => {
      this.#results.set(id, resolve);
      this.onmessage?.({ ...message, id }, extra);
    }).finally(() => this.#results.delete(id));
    if (result === undefined) throw new Error(error?.message ?? "the server gave no result");
    return result;
  }
}

function resultOf(answer: CallAnswer): JsonObject {
  const { text, isError } = modelText(answer);
  if (answer.status !== "succeeded" || answer.reused !== undefined) return textResult(text, isError);
  return answer.output as JsonObject;
}

function textResult(text: string, isError: boolean): JsonObject {
  return { content: [{ type: "text", text }], ...(isError && { isError }) };
}

function textIn(content: Json | undefined): string {
  const parts = Array.isArray(content) ? (content as readonly JsonObject[]) : [];
  return parts.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n") || "the tool failed";
}
