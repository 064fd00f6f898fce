import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, Server } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { createEngine } from "../../src/index.ts";
import { mcpToolNames } from "../../src/mcp/mcp-tool-names.ts";
import { mcpTools } from "../../src/mcp.ts";
import { memory } from "../../src/memory.ts";

const schema = { type: "object" as const, properties: { q: { type: "string" } }, required: ["q"] };

/** A client that is connected to a server with these tools, which answer with their name. */
async function clientOf(names: readonly string[]): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: names.map((name) => ({ name, inputSchema: schema })) }));
  server.setRequestHandler("tools/call", ({ params: { name } }) => ({ content: [{ type: "text", text: name }] }));
  await server.connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  onTestFinished(() => client.close());
  return client;
}

const bot = { id: "bot", kind: "agent", tenant: "t" } as const;

describe("mcpTools", () => {
  it("makes tools of Writ from the tools of a server: undeclared ones act", async () => {
    const client = await clientOf(["find", "send"]);
    const tools = await mcpTools(client, { server: "mail", tools: { find: { effect: "reads" } } });
    expect(tools.map(({ name, effect }) => [name, effect])).toEqual([
      ["mail.find", "reads"],
      ["mail.send", "acts"],
    ]);
    const engine = await createEngine({ store: memory(), tools });
    onTestFinished(() => engine.close());
    const found = await engine.call("mail.find", { q: "a" }, { principal: bot });
    expect(found.step.output).toEqual({ content: [{ type: "text", text: "find" }] });
    expect((await engine.call("mail.send", { q: "a" }, { principal: bot })).step.state).toBe("waiting_approval");
    expect((await engine.call("mail.find", { q: 1 }, { principal: bot })).step.fault?.code).toBe("INVALID_INPUT");
  });

  it("refuses a misspelt declaration, a bad name of a server, and two tools of one name", async () => {
    const client = await clientOf(["find"]);
    const misspelt = mcpTools(client, { server: "mail", tools: { fund: { effect: "reads" } } });
    await expect(misspelt).rejects.toThrow("MCP server mail has no tool fund; it has find");
    await expect(mcpTools(client, { server: "my mail" })).rejects.toThrow("the name of an MCP server must be");
    await expect(mcpTools(await clientOf(["a", "a"]), { server: "mail" })).rejects.toThrow("have the same name");
  });
});

describe("the name of an MCP tool in Writ", () => {
  it("is the same name where it fits, and else unique, allowed and stable", () => {
    const long = "x".repeat(128);
    const given = ["plain", "a/b", "a_b", "a b", long, `${long.slice(1)}y`];
    const names = [...mcpToolNames("s", given).values()];
    expect(names[0]).toBe("s.plain");
    expect(new Set(names).size).toBe(given.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
    expect([...mcpToolNames("s", given).values()]).toEqual(names);
  });
});
