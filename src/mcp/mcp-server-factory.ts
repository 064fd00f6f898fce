import type { JSONRPCRequest, Result, Server, ServerContext } from "@modelcontextprotocol/server";
import { writVersion } from "../core/values/writ-version.ts";
import { TASKS_EXTENSION } from "./client-capabilities.ts";
import { type CallParams, GatewayClient } from "./gateway-client.ts";
import { loadServerSdk } from "./load-sdk.ts";
import type { ServeMcpOptions, ServerSdk } from "./serve-mcp-options.ts";
import { TaskRequests } from "./task-requests.ts";

const capabilities = {
  tools: { listChanged: true },
  tasks: { list: {}, requests: { tools: { call: {} } } },
  extensions: { [TASKS_EXTENSION]: {} },
};

/** Returns a factory of MCP servers, one for each connection, for `serveStdio` or `createMcpHandler`. */
export async function mcpServerFactory(serving: ServeMcpOptions): Promise<() => Server> {
  const sdk = await loadServerSdk();
  const TaskServer = taskServerOf(sdk);
  return () => {
    const server = new TaskServer({ name: "writ", version: writVersion }, { capabilities });
    const connection = new GatewayClient(server, serving, sdk);
    const tasks = new TaskRequests(server, connection, sdk);
    const answered = async (params: CallParams, context: ServerContext): Promise<unknown> => {
      const outcome = await connection.call(params, context);
      if (outcome.kind === "confirm") return connection.confirmationRequest(outcome.question);
      return outcome.kind === "task" ? tasks.created(outcome.task, context) : outcome.result;
    };
    server.setRequestHandler("tools/list", async (_, context) => ({
      tools: (await connection.definitions(context)) as never,
    }));
    server.setRequestHandler("tools/call", ({ params }, context) => answered(params, context) as never);
    tasks.listen();
    const end = serving.tools.onChange(() => void server.sendToolListChanged().catch(serving.onError));
    server.onclose = () => {
      end();
      connection.isClosed = true;
    };
    return server;
  };
}

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/** The SDK accepts only the result of a tool as the answer to a call. A task is no result, so it skips the check. */
function taskServerOf(sdk: ServerSdk): typeof Server {
  return class TaskServer extends sdk.Server {
    protected override _wrapHandler(method: string, handler: Handler): Handler {
      if (method !== "tools/call") return super._wrapHandler(method, handler);
      return async (request, context) => {
        let task: Result | null = null;
        const checked = super._wrapHandler(method, async (...given) => {
          const result = await handler(...given);
          task = result.resultType === "task" || "task" in result ? result : null;
          return task === null ? result : { content: [] };
        });
        const result = await checked(request, context);
        return task ?? result;
      };
    }
  };
}
