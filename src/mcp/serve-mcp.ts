import type { Server, ServerContext } from "@modelcontextprotocol/server";
import type { CallAnswer } from "../core/run/call-answer.ts";
import type { JsonObject } from "../core/values/json.ts";
import { writVersion } from "../core/values/writ-version.ts";
import { isFinal } from "./call-matcher.ts";
import { withClientProgress } from "./client-progress.ts";
import { loadServerSdk } from "./load-sdk.ts";
import type { McpProgress } from "./mcp-protocol.ts";
import { isConfirmable, type McpQuestion, type McpSession } from "./mcp-session.ts";
import type { ServedTool, ServedTools } from "./served-tools.ts";
import { type SentResult, toolResult } from "./tool-result.ts";

export interface McpServing {
  readonly tools: ServedTools;
  /** Opens the session of a client, at its first call. */
  session(client: string): Promise<McpSession>;
  /** How long a request waits for a person before it is answered as held. */
  readonly holdMs: number;
  readonly onError: (error: unknown) => void;
}

/** The name under which Claude Code sends the id of a call. */
const TOOL_USE_ID = "claudecode/toolUseId";
/** The key of the question that asks a client to confirm a call. */
const CONFIRMATION = "confirm";
const PROGRESS_MS = 5000;

/** Returns a factory of MCP servers, one for each connection, for `serveStdio` or `createMcpHandler`. */
export async function serveMcp(options: McpServing): Promise<() => Server> {
  const sdk = await loadServerSdk();
  return () => {
    const server = new sdk.Server(
      { name: "writ", version: writVersion },
      { capabilities: { tools: { listChanged: true } } },
    );
    const connection = new Connection(server, options, sdk.inputRequired, sdk.inputResponse);
    server.setRequestHandler("tools/list", async () => ({ tools: (await connection.definitions()) as never }));
    server.setRequestHandler("tools/call", ({ params }, context) => connection.call(params, context) as never);
    const end = options.tools.onChange(() => void server.sendToolListChanged().catch(options.onError));
    server.onclose = () => {
      end();
      connection.isClosed = true;
    };
    return server;
  };
}

type InputRequired = typeof import("@modelcontextprotocol/server").inputRequired;
type InputResponse = typeof import("@modelcontextprotocol/server").inputResponse;

/** One client, and the way in which its calls are answered. */
class Connection {
  isClosed = false;
  readonly #server: Server;
  readonly #options: McpServing;
  readonly #inputRequired: InputRequired;
  readonly #inputResponse: InputResponse;

  constructor(server: Server, options: McpServing, inputRequired: InputRequired, inputResponse: InputResponse) {
    this.#server = server;
    this.#options = options;
    this.#inputRequired = inputRequired;
    this.#inputResponse = inputResponse;
  }

  async definitions(): Promise<readonly unknown[]> {
    return (await this.#options.tools.list()).map(({ definition }) => definition);
  }

  async call(
    params: { readonly name: string; readonly arguments?: Readonly<Record<string, unknown>> | undefined },
    context: ServerContext,
  ): Promise<unknown> {
    const served = (await this.#options.tools.list()).find(({ definition }) => definition.name === params.name);
    const client = this.#clientName(context);
    const session = await this.#options.session(client);
    const question: McpQuestion = {
      tool: served?.tool ?? params.name,
      input: (params.arguments ?? {}) as JsonObject,
      id: toolUseId(context),
      client,
      signal: context.mcpReq.signal,
    };
    const id = session.idOf(question);
    const answer = await withClientProgress(progressReceiver(context), () => this.#ask(session, question, id, context));
    if (answer === null) return this.#confirmationRequest(question);
    if (isFinal(answer.status)) this.#deliver(session, question, id);
    return this.#result(answer, served, session);
  }

  /** Returns the answer, or null if the client has to ask its user for a confirmation first. */
  async #ask(
    session: McpSession,
    question: McpQuestion,
    id: string,
    context: ServerContext,
  ): Promise<CallAnswer | null> {
    const first = await session.ask(question, id, 0);
    if (first.status !== "held") return first;
    if (isConfirmable(first) && this.#canElicit(context)) {
      const said = this.#inputResponse(context.mcpReq.inputResponses, CONFIRMATION);
      if (said.kind !== "elicit") return null;
      if (said.action !== "accept") return first;
      await session.confirm(question, id);
      return session.ask(question, id, 0);
    }
    const stop = this.#reportWaiting(context);
    try {
      return await session.ask(question, id, this.#options.holdMs);
    } finally {
      stop();
    }
  }

  /** The client shows the exact call. Its answer confirms the call and never approves it. */
  #confirmationRequest({ tool, input }: McpQuestion): unknown {
    const message = `Confirm this call of ${tool}:\n${JSON.stringify(input, null, 2)}`;
    const requestedSchema = { type: "object", properties: {} } as const;
    const elicit = this.#inputRequired.elicit({ message, requestedSchema });
    return this.#inputRequired({ inputRequests: { [CONFIRMATION]: elicit } });
  }

  /** A request that waits for a person reports progress, because clients end silent requests. */
  #reportWaiting(context: ServerContext): () => void {
    const receive = progressReceiver(context);
    if (receive === null) return () => {};
    let progress = 0;
    const timer = setInterval(() => {
      progress += 1;
      receive({ progress, message: "waiting for the approval of a person" });
    }, PROGRESS_MS);
    return () => clearInterval(timer);
  }

  #canElicit({ mcpReq }: ServerContext): boolean {
    const declared = envelopeField(mcpReq.envelope, "clientCapabilities") ?? this.#server.getClientCapabilities();
    return declared !== undefined && "elicitation" in declared && declared.elicitation !== undefined;
  }

  #clientName({ mcpReq }: ServerContext): string {
    const declared = envelopeField(mcpReq.envelope, "clientInfo") ?? this.#server.getClientVersion();
    const name = declared !== undefined && "name" in declared ? declared.name : undefined;
    const plain = typeof name === "string" ? name.replaceAll(/[^\x21-\x7e]+/g, " ").trim() : "";
    return plain.slice(0, 100) || "unknown client";
  }

  /** The answer is sent after this method. If the client is gone by then, it has not got it. */
  #deliver(session: McpSession, question: McpQuestion, id: string): void {
    session.endQuestion(question, id);
    setImmediate(() => {
      if (this.isClosed || question.signal.aborted) session.reopenQuestion(question, id);
      else session.recordDelivery(question, id).catch(this.#options.onError);
    });
  }

  #result(answer: CallAnswer, served: ServedTool | undefined, { run }: McpSession): SentResult {
    const hasOutputSchema = served?.definition.outputSchema !== undefined;
    return toolResult(answer, { isMcp: served?.isMcp ?? false, hasOutputSchema }, run.run_id);
  }
}

/** Clients of the revision 2026-07-28 describe themselves in every request. */
function envelopeField(envelope: object | undefined, name: string): object | undefined {
  const value = (envelope as Readonly<Record<string, unknown>> | undefined)?.[`io.modelcontextprotocol/${name}`];
  return typeof value === "object" && value !== null ? value : undefined;
}

function toolUseId({ mcpReq }: ServerContext): string | null {
  const id = mcpReq._meta?.[TOOL_USE_ID];
  return typeof id === "string" && id.length > 0 && id.length <= 200 ? id : null;
}

/** Returns the function that reports progress to the client, or null if the client wants none. */
function progressReceiver({ mcpReq }: ServerContext): ((progress: McpProgress) => void) | null {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return null;
  return (progress) => {
    const params = { ...progress, progressToken };
    void mcpReq.notify({ method: "notifications/progress", params } as never).catch(() => {});
  };
}
