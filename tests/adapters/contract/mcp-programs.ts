import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, InMemoryTransport, Server } from "@modelcontextprotocol/server";
import { modelText } from "../../../src/core/run/call-answer.ts";
import type { Json } from "../../../src/core/values/json.ts";
import { outputAsPlainData as plainValue } from "../../../src/engine/ports/output-as-plain-data.ts";
import { mcpGateway } from "../../../src/mcp/mcp-gateway.ts";
import { mcpTools } from "../../../src/mcp/mcp-tools.ts";
import { mcpPinSlice } from "../../../src/mcp/tool-pins.ts";
import { type AdapterUnderTest, type ContractTool, playScript } from "../../../src/testing.ts";

/** An MCP server with the tools of the contract, over HTTP on the loopback interface. */
async function toolServer(tools: readonly ContractTool[]) {
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "contract", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({
      tools: tools.map(({ name, description, input }) => ({ name, description, inputSchema: input as never })),
    }));
    server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
      const own = tools.find(({ name }) => name === params.name);
      try {
        const output = plainValue(await own?.run(params.arguments ?? {}, mcpReq.signal)).value;
        return { content: [{ type: "text", text: JSON.stringify(output) }] };
      } catch (error) {
        return { content: [{ type: "text", text: (error as Error).message }], isError: true };
      }
    });
    return server;
  });
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const ended = new AbortController();
    response.on("close", () => ended.abort());
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? "GET",
        headers: request.headers as Record<string, string>,
        signal: ended.signal,
        ...(request.method === "POST" && { body: Buffer.concat(chunks) }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body !== null) for await (const chunk of answer.body) response.write(chunk);
    response.end();
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const close = async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  };
  return { url, close };
}

const settings = (tools: readonly ContractTool[]) =>
  Object.fromEntries(
    tools.map(({ name, effect }) => [name, { effect: effect === "acts" ? ("acts" as const) : ("reads" as const) }]),
  );

const toolName = (tool: string) => `contract.${tool}`;
const outputAsPlainData = (output: Json): Json => {
  const { content } = output as { readonly content: readonly [{ readonly text: string }] };
  return JSON.parse(content[0].text) as Json;
};
const textOf = (result: unknown): string =>
  (result as { readonly content: readonly { readonly text?: string }[] }).content
    .map(({ text }) => text ?? "")
    .join("\n");

/** The tools of an MCP server, in the engine of a program that proposes calls to its open run. */
export const mcpIn: AdapterUnderTest = {
  lacks: ["model", "writes"],
  toolName,
  outputAsPlainData,
  open: async ({ engine, session, principal, tools, script }) => {
    const server = await toolServer(tools);
    const client = new Client({ name: "program", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
    await engine.tools.put(await mcpTools(client as never, { server: "contract", tools: settings(tools) }));
    const run = await engine.openRun({ session, principal });
    const known = new Set(tools.map(({ name }) => name));
    return {
      ask: (signal) =>
        playScript(script, async ({ id, tool, input }) => {
          if (signal?.aborted === true) return modelText({ status: "cancelled" }).text;
          const call = { id, tool: known.has(tool) ? toolName(tool) : tool, input };
          return modelText(await run.callTool(call, signal === undefined ? {} : { signal })).text;
        }),
      close: async () => {
        await server.close();
        await client.close();
      },
    };
  },
};

/** A client of the gateway, which stands before the server with the tools. Like Claude Code, it sends the ids of calls. */
export const gatewayOut: AdapterUnderTest = {
  engine: { slices: [mcpPinSlice] },
  lacks: ["model", "writes", "argument texts"],
  // A gateway records a call of a tool that it does not show under a name that no tool has.
  toolName: (tool) => (tool === "nosuch" ? "nosuch (not served)" : toolName(tool)),
  outputAsPlainData,
  open: async ({ engine, principal, session, tools, script }) => {
    const upstream = await toolServer(tools);
    const gateway = await mcpGateway({
      engine,
      servers: { contract: { url: upstream.url, tools: settings(tools) } },
      principal,
      session,
      holdMs: 0,
    });
    const [near, far] = InMemoryTransport.createLinkedPair();
    await gateway.server().connect(far);
    const client = new Client({ name: "editor", version: "1" });
    await client.connect(near);
    const asked = (signal?: AbortSignal) =>
      playScript(script, async ({ id, tool, input }) => {
        const call = { name: tool, arguments: input as never, _meta: { "claudecode/toolUseId": id } };
        return textOf(await client.callTool(call, signal === undefined ? {} : { signal }));
      });
    return {
      ask: asked,
      respond: () => asked(),
      close: async () => {
        await upstream.close();
        await client.close();
      },
    };
  },
};
