import type { Client, ClientOptions } from "@modelcontextprotocol/client";
import { Client as SdkClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  createTaskSessionFromClient,
  type TaskEnabledSession,
  toolDeclarationFromMcpTool,
} from "@modelcontextprotocol/ext-tasks/client";
import { onTestFinished } from "vitest";

/** A client of the revision 2025-11-25 that follows tasks, as the package for tasks makes it. */
export async function olderTaskSession(client: Client): Promise<TaskEnabledSession> {
  const { tools: listed } = await client.listTools();
  const declared = new Map(listed.map((tool) => [tool.name, toolDeclarationFromMcpTool(tool)]));
  const tools = { currentTool: (name: string) => declared.get(name) };
  const session = createTaskSessionFromClient(client, { endpointId: "gateway", tools });
  onTestFinished(() => session.close());
  return session;
}

const PROTOCOL = "2026-07-28";
const tasks = { "io.modelcontextprotocol/tasks": {} };

/** A client of the revision 2026-07-28 that follows tasks, over HTTP. */
export class NewerTaskClient {
  readonly #url: URL;
  readonly #token: string;
  readonly #capabilities: object;
  #id = 0;

  constructor(url: URL, token: string, capabilities: object = { extensions: tasks }) {
    this.#url = url;
    this.#token = token;
    this.#capabilities = capabilities;
  }

  /** Sends one request, and returns its result. Throws the error of the server. */
  async request(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const answer = await this.dispatch({ method, params: { ...params, _meta: this.#meta() } });
    if (answer.kind === "error") throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.result as Record<string, unknown>;
  }

  #meta(): object {
    return {
      "io.modelcontextprotocol/protocolVersion": PROTOCOL,
      "io.modelcontextprotocol/clientInfo": { name: "editor", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": this.#capabilities,
    };
  }

  async dispatch(request: unknown) {
    const { method, params } = request as { method: string; params: { name?: string; taskId?: string } };
    this.#id += 1;
    const name = params.name ?? params.taskId;
    const response = await fetch(this.#url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.#token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": PROTOCOL,
        "mcp-method": method,
        ...(name !== undefined && { "mcp-name": name }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: this.#id, method, params }),
    });
    const text = await response.text();
    const data = text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? text);
    const message = JSON.parse(data) as { result?: unknown; error?: { code: number; message: string } };
    if (message.error !== undefined) return { kind: "error" as const, error: message.error };
    return { kind: "result" as const, result: message.result };
  }

  /** The session of the package for tasks, over these requests. */
  async session(options: ClientOptions = {}): Promise<TaskEnabledSession> {
    const client = new SdkClient(
      { name: "editor", version: "1" },
      { versionNegotiation: { mode: "auto" }, ...options },
    );
    const requestInit = { headers: { authorization: `Bearer ${this.#token}` } };
    await client.connect(new StreamableHTTPClientTransport(this.#url, { requestInit }));
    onTestFinished(() => client.close());
    const session = createTaskSessionFromClient(client, {
      endpointId: "gateway",
      rawDispatch: ((request: unknown) => this.dispatch(request)) as never,
      v2RequestFraming: {
        protocolVersion: PROTOCOL,
        clientInfo: { name: "editor", version: "1" },
        clientCapabilities: this.#capabilities as never,
      },
    });
    onTestFinished(() => session.close());
    return session;
  }
}
