import type { Server, ServerContext } from "@modelcontextprotocol/server";
import type { CallAnswer } from "../core/run/call-answer.ts";
import type { JsonObject } from "../core/values/json.ts";
import { readTraceParent } from "../engine/ports/trace-parent.ts";
import { isFinal } from "./call-matcher.ts";
import { forClient } from "./calling-client.ts";
import { canElicit, clientName, isOfNewRevision, takesTasks } from "./client-capabilities.ts";
import { type McpProgress, TRACE_META } from "./mcp-protocol.ts";
import { isConfirmable, type McpQuestion, type McpSession } from "./mcp-session.ts";
import { resultForClient, type SentResult } from "./result-for-client.ts";
import type { ServeMcpOptions, ServerSdk } from "./serve-mcp-options.ts";
import type { ServedTask } from "./served-task.ts";
import { SessionTasks } from "./session-tasks.ts";

/** The name under which Claude Code sends the id of a call. */
const TOOL_USE_ID = "claudecode/toolUseId";
/** The key of the question that asks a client to confirm a call. */
const CONFIRMATION = "confirm";
const PROGRESS_MS = 5000;
/** A call that runs longer becomes a task, where the client takes one. */
const TASK_AFTER_MS = 2000;

/** A request to call a tool, as clients of both revisions send it. */
export interface CallParams {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  /** The client asks for a task (2025-11-25). */
  readonly task?: object | undefined;
}

/** The outcome of a request: the answer of the call, a task that the client follows, or a question to its user. */
export type CallOutcome =
  | { readonly kind: "answer"; readonly result: SentResult }
  | { readonly kind: "task"; readonly task: ServedTask }
  | { readonly kind: "confirm"; readonly question: McpQuestion };

/** One client, and the way in which its calls are answered. */
export class GatewayClient {
  isClosed = false;
  readonly #server: Server;
  readonly #serving: ServeMcpOptions;
  readonly #sdk: ServerSdk;

  constructor(server: Server, serving: ServeMcpOptions, sdk: ServerSdk) {
    this.#server = server;
    this.#serving = serving;
    this.#sdk = sdk;
  }

  /** A client of the revision 2025-11-25 asks for a task only where a tool declares that it can. */
  async definitions(context: ServerContext): Promise<readonly unknown[]> {
    const definitions = (await this.#serving.tools.list()).map(({ definition }) => definition);
    if (isOfNewRevision(context)) return definitions;
    return definitions.map((definition) => ({ ...definition, execution: { taskSupport: "optional" } }));
  }

  async session(context: ServerContext): Promise<McpSession> {
    return this.#serving.session(clientName(this.#server, context));
  }

  async call(params: CallParams, context: ServerContext): Promise<CallOutcome> {
    const served = (await this.#serving.tools.list()).find(({ definition }) => definition.name === params.name);
    const session = await this.session(context);
    const stop = new AbortController();
    const asked = context.mcpReq.signal;
    const abort = () => stop.abort(asked.reason);
    asked.addEventListener("abort", abort, { once: true });
    const question: McpQuestion = {
      tool: served?.tool ?? unservedTool(params.name),
      input: (params.arguments ?? {}) as JsonObject,
      id: toolUseId(context),
      client: clientName(this.#server, context),
      signal: stop.signal,
      traceparent: readTraceParent(context.mcpReq._meta?.[TRACE_META]),
    };
    const id = session.idOf(question);
    const answer = await this.#ask(session, question, id, { params, context });
    if (answer === "confirm") return { kind: "confirm", question };
    if (answer === "task") {
      asked.removeEventListener("abort", abort); // A task outlives its request.
      return { kind: "task", task: this.tasksOf(session).create(question, id, stop) };
    }
    if (isFinal(answer.status)) this.deliver(session, question, id);
    return { kind: "answer", result: await this.result(answer, question, session) };
  }

  tasksOf(session: McpSession): SessionTasks {
    return SessionTasks.of(session, this.#serving.now);
  }

  async #ask(
    session: McpSession,
    question: McpQuestion,
    id: string,
    { params, context }: { readonly params: CallParams; readonly context: ServerContext },
  ): Promise<CallAnswer | "confirm" | "task"> {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const client = { receive: progressReceiver(context), onBegin: () => begin() };
    const first = forClient(client, () => session.ask(question, id, 0));
    first.catch(() => {}); // A call that became a task ends without its request.
    if (params.task !== undefined) return Promise.race([first, begun]).then(() => "task");
    const isTaken = takesTasks(context);
    const long = isTaken ? begun.then(() => after(TASK_AFTER_MS)).then(() => "task" as const) : first;
    const answer = await Promise.race([first, long]);
    if (answer === "task" || answer.status !== "held") return answer;
    if (isConfirmable(answer) && canElicit(this.#server, context)) {
      const said = this.#sdk.inputResponse(context.mcpReq.inputResponses, CONFIRMATION);
      if (said.kind !== "elicit") return "confirm";
      if (said.action !== "accept") return answer;
      await session.confirm(question, id);
      return forClient(client, () => session.ask(question, id, 0));
    }
    if (isTaken) return "task";
    const stop = reportWaiting(context);
    try {
      return await forClient(client, () => session.ask(question, id, this.#serving.holdMs));
    } finally {
      stop();
    }
  }

  /** The client shows the exact call. Its answer confirms the call and never approves it. */
  confirmationRequest(question: McpQuestion): unknown {
    const elicit = this.#sdk.inputRequired.elicit(confirmationOf(question));
    return this.#sdk.inputRequired({ inputRequests: { [CONFIRMATION]: elicit } });
  }

  /** The answer is sent after this method. If the client is gone by then, it has not got it. */
  deliver(session: McpSession, question: McpQuestion, id: string): void {
    session.endQuestion(question, id);
    setImmediate(() => {
      if (this.isClosed || question.signal.aborted) session.reopenQuestion(question, id);
      else session.recordDelivery(question, id).catch(this.#serving.onError);
    });
  }

  async result(answer: CallAnswer, { tool }: McpQuestion, { run }: McpSession): Promise<SentResult> {
    const served = (await this.#serving.tools.list()).find((each) => each.tool === tool);
    const hasOutputSchema = served?.definition.outputSchema !== undefined;
    return resultForClient(answer, { isMcp: served?.isMcp ?? false, hasOutputSchema }, run.run_id);
  }
}

/** The engine may have a tool that the server does not show. No tool has a name with spaces, so the call is refused. */
function unservedTool(name: string): string {
  return `${name} (not served)`;
}

/** The question that a client asks its user. */
export function confirmationOf({ tool, input }: McpQuestion) {
  const message = `Confirm this call of ${tool}:\n${JSON.stringify(input, null, 2)}`;
  return { message, requestedSchema: { type: "object" as const, properties: {} } };
}

/** A request that waits for a person reports progress, because clients end silent requests. */
export function reportWaiting(context: ServerContext): () => void {
  const receive = progressReceiver(context);
  if (receive === null) return () => {};
  let progress = 0;
  const timer = setInterval(() => {
    progress += 1;
    receive({ progress, message: "waiting for the approval of a person" });
  }, PROGRESS_MS);
  return () => clearInterval(timer);
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
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
