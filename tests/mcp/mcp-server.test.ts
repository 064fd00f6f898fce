import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { createEngine, defineTool, type Engine } from "../../src/index.ts";
import { type McpServer, type McpServerOptions, mcpServer } from "../../src/mcp.ts";
import { memory } from "../../src/memory.ts";
import { rejectedFault } from "../engine/scripted-tool.ts";
import { ana, told } from "./gateway-fixture.ts";

const bot = { id: "mcp", kind: "agent", tenant: "t" } as const;
const token = "a token of sixteen characters";
const anyInput = { type: "object", properties: { q: { type: "string" } } } as const;

const textOf = (input: unknown) => (input as { readonly q: string }).q;

interface Served {
  readonly engine: Engine;
  readonly server: McpServer;
  readonly sent: readonly string[];
}

/** An engine with a tool that reads and one that acts, and its MCP server. */
async function served(options: Partial<McpServerOptions> = {}): Promise<Served> {
  const sent: string[] = [];
  const search = defineTool({
    name: "search",
    effect: "reads",
    description: "Searches the notes.",
    input: anyInput,
    output: { type: "object", properties: { found: { type: "string" } } },
    run: async (input) => ({ found: textOf(input) }),
  });
  const send = defineTool({
    name: "mail.send",
    effect: "acts",
    input: anyInput,
    output: { type: "string" },
    run: async (input) => {
      sent.push(textOf(input));
      return `sent ${textOf(input)}`;
    },
  });
  const engine = await createEngine({ store: memory(), tools: [search, send] });
  onTestFinished(() => engine.close());
  const server = await mcpServer(engine, { principal: bot, holdMs: 0, ...options });
  onTestFinished(() => server.close());
  return { engine, server, sent };
}

const revisions: readonly (readonly [string, ClientOptions])[] = [
  ["2025-11-25", {}],
  ["2026-07-28", { versionNegotiation: { mode: "auto" } }],
];

/** Connects the official client over HTTP. */
async function overHttp(server: McpServer, options: ClientOptions): Promise<Client> {
  const url = await server.http({ port: 0, token });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  return connected(new StreamableHTTPClientTransport(url, { requestInit }), options);
}

/** Connects the official client over the streams of a process. */
async function overStdio(server: McpServer, options: ClientOptions): Promise<Client> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const serving = server.stdio({ input, output });
  onTestFinished(async () => {
    input.end();
    await serving;
  });
  return connected(lineTransport(output, input), options);
}

async function connected(transport: Transport, options: ClientOptions): Promise<Client> {
  const client = new Client({ name: "editor", version: "1" }, options);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** The transport of a client that has started a process, over its streams: a message is a line. */
function lineTransport(from: PassThrough, to: PassThrough): Transport {
  const transport: Transport = {
    start: async () => {
      createInterface(from).on("line", (line) => transport.onmessage?.(JSON.parse(line)));
    },
    send: async (message) => {
      to.write(`${JSON.stringify(message)}\n`);
    },
    close: async () => transport.onclose?.(),
  };
  return transport;
}

const call = { name: "mail.send", arguments: { q: "hello" } };

describe.each(revisions)("an MCP server in front of an engine, for clients of the revision %s", (_, options) => {
  it.each([
    ["HTTP", overHttp],
    ["stdio", overStdio],
  ])("makes a held act once and records a read, over %s", async (_name, connect) => {
    const { engine, server, sent } = await served();
    const client = await connect(server, options);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      { name: "search", description: "Searches the notes.", annotations: { readOnlyHint: true } },
      { name: "mail.send", annotations: { readOnlyHint: false } },
    ]);
    expect(tools.map(({ outputSchema }) => outputSchema !== undefined)).toEqual([true, false]);
    const read = await client.callTool({ name: "search", arguments: { q: "tea" } });
    expect(read.structuredContent).toEqual({ found: "tea" });
    const held = told(await client.callTool(call));
    expect(held.status).toBe("held");
    expect(sent).toEqual([]);
    await engine.approve(held.gate, { principal: ana });
    expect(told(await client.callTool(call))).toMatchObject({ status: "succeeded", text: "sent hello" });
    expect(sent).toEqual(["hello"]);
    const [run] = await engine.runs({ principal: ana, session: "mcp" });
    expect(run).toMatchObject({ session: "mcp", principal: "mcp" });
  });

  it("refuses wrong arguments and unknown tools, on record", async () => {
    const { engine, server, sent } = await served();
    const client = await overHttp(server, options);
    const wrong = told(await client.callTool({ name: "mail.send", arguments: { q: 1 } }));
    expect(wrong.status).toBe("refused");
    expect(told(await client.callTool({ name: "other", arguments: {} })).status).toBe("refused");
    expect(sent).toEqual([]);
    const [row] = await engine.runs({ principal: ana, session: "mcp" });
    const { steps } = await (await engine.run(row?.run_id as string, { principal: ana })).result();
    expect(Object.values(steps).map(({ state }) => state)).toEqual(["rejected", "rejected"]);
  });
});

describe("an MCP server in front of an engine", () => {
  it("shows the tools that it was given, and no tool that the principal may not call", async () => {
    const { server } = await served({ tools: ["search"] });
    const client = await overHttp(server, {});
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["search"]);
    const { engine } = await served();
    const fault = await rejectedFault(mcpServer(engine, { principal: bot, tools: ["other"] }));
    expect(fault).toMatchObject({ code: "TOOL_UNKNOWN", message: expect.stringContaining("other") });
  });

  it("calls no tool that it does not show", async () => {
    const { server, sent } = await served({ tools: ["search"] });
    const client = await overHttp(server, {});
    expect(told(await client.callTool(call)).status).toBe("refused");
    expect(sent).toEqual([]);
  });

  it("shows tools that come and go, and tells its clients at their next request", async () => {
    const { engine, server } = await served();
    const client = await overStdio(server, {});
    const changed = new Promise<void>((resolve) => {
      client.setNotificationHandler("notifications/tools/list_changed", () => resolve());
    });
    await client.listTools();
    await engine.tools.remove(["search"]);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["mail.send"]);
    await changed;
  });

  it("refuses an unknown option and a short token", async () => {
    const { engine, server } = await served();
    const fault = await rejectedFault(mcpServer(engine, { principal: bot, sessions: "a" } as never));
    expect(fault).toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining("sessions") });
    expect((await rejectedFault(server.http({ port: 0, token: "short" }))).code).toBe("INVALID_INPUT");
  });
});
