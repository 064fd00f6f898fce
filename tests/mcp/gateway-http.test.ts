import { request } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { serveGatewayHttp } from "../../src/mcp/gateway-http.ts";
import { ana, confirming, gatewayStage, told } from "./gateway-fixture.ts";

const token = "a token of sixteen characters";

async function servedGateway(policies: readonly unknown[] = []) {
  const stage = gatewayStage();
  const engine = await stage.engine({ policies });
  const gateway = await stage.gateway(engine, { notes: stage.scripted() });
  const server = await serveGatewayHttp(gateway, { port: 0, token });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { stage, engine, port, url: new URL(`http://127.0.0.1:${port}/mcp`) };
}

async function connectHttp(url: URL, options: ConstructorParameters<typeof Client>[1] = {}): Promise<Client> {
  const client = new Client({ name: "editor", version: "1" }, options);
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

/** Sends one request with these headers and returns its status. */
function statusOf(port: number, headers: Readonly<Record<string, string>>, path = "/mcp"): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", path, method: "POST", headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once("error", reject).end("{}");
  });
}

describe("an MCP gateway over HTTP", () => {
  it.each([
    ["2025-11-25", {}],
    ["2026-07-28", { versionNegotiation: { mode: "auto" as const } }],
  ])("serves clients of the revision %s", async (_, options) => {
    const { stage, engine, url } = await servedGateway();
    const client = await connectHttp(url, options);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["look", "post", "a/long name"]);
    const call = { name: "post", arguments: { text: "one" } };
    const held = told(await client.callTool(call));
    expect(held.status).toBe("held");
    await engine.approve(held.gate, { principal: ana });
    expect(told(await client.callTool(call)).status).toBe("succeeded");
    expect(stage.lines()).toEqual(["one"]);
  });

  it("takes a confirmation from a client of the revision 2026-07-28, which answers by asking again", async () => {
    const { stage, url } = await servedGateway([confirming]);
    const client = await connectHttp(url, {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: "auto" },
    });
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
    const answer = told(await client.callTool({ name: "post", arguments: { text: "one" } }));
    expect(answer.status).toBe("succeeded");
    expect(stage.lines()).toEqual(["one"]);
  });

  it("refuses a request without its token, of a foreign page, for another host or at another path", async () => {
    const { stage, port } = await servedGateway();
    const authorization = `Bearer ${token}`;
    const json = { "content-type": "application/json" };
    expect(await statusOf(port, json)).toBe(401);
    expect(await statusOf(port, { ...json, authorization: "Bearer another" })).toBe(401);
    expect(await statusOf(port, { ...json, authorization, host: "example.org" })).toBe(403);
    expect(await statusOf(port, { ...json, authorization, origin: "https://example.org" })).toBe(403);
    expect(await statusOf(port, { ...json, authorization }, "/other")).toBe(404);
    expect(stage.starts()).toBe(0);
  });
});
