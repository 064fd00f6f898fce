import type { Server, ServerContext, StandardSchemaV1 } from "@modelcontextprotocol/server";
import { type CallAnswer, modelText } from "../core/run/call-answer.ts";
import type { JsonObject } from "../core/values/json.ts";
import { isFinal } from "./call-matcher.ts";
import { canElicit, clientName, isOfNewRevision, TASKS_EXTENSION, takesTasks } from "./client-capabilities.ts";
import { confirmationOf, type GatewayClient, reportWaiting } from "./gateway-client.ts";
import { isConfirmable, type McpSession } from "./mcp-session.ts";
import type { ServerSdk } from "./serve-mcp-options.ts";
import type { ServedTask } from "./served-task.ts";

/** How often a client should ask for the state of a task. */
const POLL_MS = 1000;
const codes = { methodNotFound: -32601, invalidParams: -32602, missingCapability: -32021 } as const;
const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** A task that a client asks about, and the answer of its call as it is now. */
interface AskedTask {
  readonly task: ServedTask;
  readonly session: McpSession;
  readonly answer: CallAnswer | null;
}

/**
 * Answers the requests about tasks of one client, in both revisions: a task is a call of its session. In 2025-11-25 the
 * client asks for a task and fetches the result with `tasks/result`; in 2026-07-28 the server decides, and `tasks/get`
 * contains the result.
 */
export class TaskRequests {
  readonly #server: Server;
  readonly #connection: GatewayClient;
  readonly #sdk: ServerSdk;

  constructor(server: Server, connection: GatewayClient, sdk: ServerSdk) {
    this.#server = server;
    this.#connection = connection;
    this.#sdk = sdk;
  }

  /** Registers the handlers. The SDK refuses those of the other revision by itself, except for `tasks/update`. */
  listen(): void {
    const named = { params: taskIdParams };
    this.#server.setRequestHandler("tasks/get", named, ({ taskId }, context) => this.#get(taskId, context) as never);
    this.#server.setRequestHandler(
      "tasks/cancel",
      named,
      ({ taskId }, context) => this.#cancel(taskId, context) as never,
    );
    this.#server.setRequestHandler(
      "tasks/update",
      named,
      ({ taskId }, context) => this.#update(taskId, context) as never,
    );
    this.#server.setRequestHandler(
      "tasks/result",
      named,
      ({ taskId }, context) => this.#result(taskId, context) as never,
    );
    this.#server.setRequestHandler("tasks/list", { params: anyParams }, (_, context) => this.#list(context) as never);
  }

  /** Returns the answer to a call that became a task. */
  async created(task: ServedTask, context: ServerContext): Promise<JsonObject> {
    const state = this.#state(task, await task.look(), context);
    return isOfNewRevision(context) ? { resultType: "task", ...state } : { task: state };
  }

  async #asked(taskId: string, context: ServerContext): Promise<AskedTask> {
    if (isOfNewRevision(context) && !takesTasks(context)) {
      const data = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } };
      throw new this.#sdk.ProtocolError(codes.missingCapability, "tasks need the extension for tasks", data);
    }
    const session = await this.#connection.session(context);
    const task = await this.#connection.tasksOf(session).find(taskId, clientName(this.#server, context));
    if (task === null) throw new this.#sdk.ProtocolError(codes.invalidParams, "the session has no such task");
    await this.#connection.definitions(context); // The tools of a gateway that has just started are registered.
    return { task, session, answer: await task.look() };
  }

  async #get(taskId: string, context: ServerContext): Promise<JsonObject> {
    const { task, session, answer } = await this.#asked(taskId, context);
    const state = this.#state(task, answer, context);
    if (!isOfNewRevision(context)) return state;
    if (state.status === "input_required" && answer?.status === "held") {
      const elicit = this.#sdk.inputRequired.elicit(confirmationOf(task.question));
      return { ...state, inputRequests: { [answer.gate.gate_id]: elicit as unknown as JsonObject } };
    }
    if (state.status !== "completed" || answer === null) return state;
    this.#connection.deliver(session, task.question, task.call);
    const result = await this.#connection.result(answer, task.question, session);
    return { ...state, result: { ...result, resultType: "complete" } as unknown as JsonObject };
  }

  /** Waits for the end of the call, as 2025-11-25 demands. The user of the client may have to confirm the call first. */
  async #result(taskId: string, context: ServerContext): Promise<unknown> {
    const { task, session, answer } = await this.#asked(taskId, context);
    const related = { [RELATED_TASK]: { taskId } };
    const stop = reportWaiting(context);
    try {
      if (this.#needsConfirmation(answer, context)) {
        const said = await context.mcpReq.elicitInput({ ...confirmationOf(task.question), _meta: related } as never);
        if (said.action === "accept") await session.confirm(task.question, task.call);
      }
      const last = await task.end(context.mcpReq.signal);
      this.#connection.deliver(session, task.question, task.call);
      const result = await this.#connection.result(last, task.question, session);
      return { ...result, _meta: { ...result._meta, ...related } };
    } finally {
      stop();
    }
  }

  async #list(context: ServerContext): Promise<JsonObject> {
    const session = await this.#connection.session(context);
    const tasks = await this.#connection.tasksOf(session).list(clientName(this.#server, context));
    return { tasks: await Promise.all(tasks.map(async (task) => this.#state(task, await task.look(), context))) };
  }

  /** The client answers the questions of a task (2026-07-28). An answer to a question that is not open is ignored. */
  async #update(taskId: string, context: ServerContext): Promise<JsonObject> {
    if (!isOfNewRevision(context)) throw new this.#sdk.ProtocolError(codes.methodNotFound, "Method not found");
    const { task, session, answer } = await this.#asked(taskId, context);
    if (answer?.status !== "held" || !this.#needsConfirmation(answer, context)) return {};
    const said = this.#sdk.inputResponse(context.mcpReq.inputResponses, answer.gate.gate_id);
    if (said.kind === "elicit" && said.action === "accept") await session.confirm(task.question, task.call);
    return {};
  }

  /** Stops work that does not act. In 2025-11-25, the task would have to be cancelled at once, so it is refused there. */
  async #cancel(taskId: string, context: ServerContext): Promise<JsonObject> {
    if (!isOfNewRevision(context)) throw new this.#sdk.ProtocolError(codes.methodNotFound, "Method not found");
    const { task } = await this.#asked(taskId, context);
    task.stop();
    return {};
  }

  #needsConfirmation(answer: CallAnswer | null, context: ServerContext): boolean {
    return answer !== null && isConfirmable(answer) && canElicit(this.#server, context);
  }

  #state(task: ServedTask, answer: CallAnswer | null, context: ServerContext): JsonObject {
    const shared = { taskId: task.id, ...this.#status(answer, context), ...task.times };
    return isOfNewRevision(context)
      ? { ...shared, ttlMs: null, pollIntervalMs: POLL_MS }
      : { ...shared, ttl: null, pollInterval: POLL_MS };
  }

  /** A call that waits for a person works, for the client: nothing that the client can send helps. */
  #status(answer: CallAnswer | null, context: ServerContext): JsonObject {
    if (answer === null) return { status: "working" };
    if (answer.status === "cancelled") return { status: "cancelled" };
    if (isFinal(answer.status)) return { status: "completed" };
    const status = this.#needsConfirmation(answer, context) ? "input_required" : "working";
    return { status, statusMessage: modelText(answer).text };
  }
}

type Validate<Params> = StandardSchemaV1.Props<unknown, Params>["validate"];

function paramsSchema<Params>(validate: Validate<Params>): StandardSchemaV1<unknown, Params> {
  return { "~standard": { version: 1, vendor: "writ", validate } };
}

const anyParams = paramsSchema((params) => ({ value: params }));
const taskIdParams = paramsSchema<{ readonly taskId: string }>((params) => {
  const { taskId } = params as { readonly taskId?: unknown };
  return typeof taskId === "string" && taskId.length <= 1000
    ? { value: { taskId } }
    : { issues: [{ message: "taskId must be the id of a task" }] };
});
