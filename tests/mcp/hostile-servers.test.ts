import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorsWithoutEffect } from "../../src/mcp/errors-without-effect.ts";
import { ana, confirming, connect, gatewayStage, told } from "./gateway-fixture.ts";

const object = { type: "object" };
/** A policy under which acts run without a person. */
const free = { policies: [{ ...confirming, rules: [] }] };
const callOf = (name: string, text = "one") => ({ name, arguments: { text } });

describe("a gateway before a server that misbehaves", () => {
  it("starts a server that ends at once less and less often, and says when it starts it again", async () => {
    const stage = gatewayStage();
    const gateway = await stage.gateway(await stage.engine(), { notes: stage.scripted({ crashes: true }) });
    const client = await connect(gateway);
    for (let asked = 0; asked < 30; asked += 1) expect((await client.listTools()).tools).toEqual([]);
    expect(stage.starts()).toBeLessThan(10);
    expect(gateway.notes.join("\n")).toMatch(/it failed \d+ times; the next start is in \d+ ms/);
  });

  it("takes one of two answers to a call, and goes on", async () => {
    const stage = gatewayStage();
    const notes = stage.scripted({ tools: [{ name: "twice", inputSchema: object }] });
    const client = await connect(await stage.gateway(await stage.engine(free), { notes }));
    expect(told(await client.callTool(callOf("twice"))).text).toMatch(/^(posted one|another answer)$/);
    expect(told(await client.callTool(callOf("look", "next"))).text).toBe("next ");
    expect(stage.lines()).toEqual(["one"]);
  });

  it("drops notifications about calls that are over or never were", async () => {
    const stage = gatewayStage();
    const notes = stage.scripted({ tools: [{ name: "late", inputSchema: object }] });
    const client = await connect(await stage.gateway(await stage.engine(free), { notes }));
    const seen: unknown[] = [];
    const onprogress = (progress: unknown) => void seen.push(progress);
    await client.callTool(callOf("late"), { onprogress });
    expect(told(await client.callTool(callOf("look", "next"))).text).toBe("next ");
    expect(seen).toEqual([]);
    expect(stage.lines()).toEqual(["one"]);
  });

  it("survives a flood of notifications: the list of tools is read a few times, and calls are answered", async () => {
    const stage = gatewayStage();
    const notes = stage.scripted({ tools: [{ name: "floods", inputSchema: object }] });
    const gateway = await stage.gateway(await stage.engine(free), { notes });
    const client = await connect(gateway);
    expect(told(await client.callTool(callOf("floods"))).status).toBe("succeeded");
    expect(told(await client.callTool(callOf("look", "next"))).text).toBe("next ");
    expect(readFileSync(join(stage.folder, "posts.lists"), "utf8").length).toBeLessThan(10);
    expect(gateway.notes.length).toBeLessThan(300);
    expect(stage.lines()).toEqual(["one"]);
  });

  it("knows a tool by its server's name when a client asks for one that is gone", async () => {
    const stage = gatewayStage();
    const engine = await stage.engine(free);
    const client = await connect(await stage.gateway(engine, { notes: stage.scripted() }));
    expect(told(await client.callTool({ name: "gone", arguments: {} }))).toMatchObject({ status: "refused" });
    const runs = await engine.runs({ principal: ana });
    expect(runs.length).toBeGreaterThan(0);
  });
});

describe("several clients of one gateway", () => {
  it("have sessions of their own, and their equal calls are different calls", async () => {
    const stage = gatewayStage();
    const engine = await stage.engine(free);
    const gateway = await stage.gateway(engine, { notes: stage.scripted() });
    const clients = [await connect(gateway), await connect(gateway, {}, "terminal")];
    const answers = await Promise.all(clients.map((client) => client.callTool(callOf("post"))));
    expect(answers.map((answer) => told(answer).status)).toEqual(["succeeded", "succeeded"]);
    expect(stage.lines()).toEqual(["one", "one"]);
    expect(new Set(answers.map(({ _meta }) => _meta?.["writ/run"])).size).toBe(2);
  });
});

describe("the presets of known servers", () => {
  const browser = ["npx", ["@playwright/mcp@latest", "--headless"]] as const;
  const github = ["docker", ["run", "-i", "ghcr.io/github/github-mcp-server:v1.2"]] as const;

  it.each([
    ["npx", ["-y", "@modelcontextprotocol/server-filesystem", "/data"], "Error: Access denied - path outside"],
    ["npx", ["-y", "@modelcontextprotocol/server-filesystem@2026.8.31"], "ENOENT: no such file"],
    ["npx", ["-y", "@modelcontextprotocol/server-memory"], "Entity with name ana not found"],
    ["node", ["/opt/mcp-server-memory"], "MCP error -32602: Input validation error"],
    ["npx", ["@modelcontextprotocol/server-everything"], "MCP error -32602: Input validation error: Invalid arguments"],
    ["npx", ["@modelcontextprotocol/server-sequential-thinking@1"], "MCP error -32602: Tool think not found"],
    ["uvx", ["mcp-server-git", "--repository", "/code"], "Input validation error: 'message' is a required property"],
    ["python", ["-m", "mcp_server_git"], "Invalid branch name: '-f' - cannot start with '-'"],
    ["/usr/local/bin/github-mcp-server", ["stdio"], "missing required parameter: owner"],
    [...github, "parameter issue_number is not of type float64, is string"],
    [...browser, '### Error\nInvalid arguments for tool "browser_click":\n✖ Invalid input: expected string'],
    [...browser, "### Error\nError: Ref e99 not found in the current page snapshot. Try capturing new snapshot."],
  ])("%s %j: an error that comes before any change proves that nothing happened", (command, args, text) => {
    const errors = errorsWithoutEffect([command, ...args])("post");
    expect(errors?.test(text)).toBe(true);
    expect(errors?.test("ENOSPC: no space left on device")).toBe(false);
    // The SDK has called the tool by then.
    const late = "MCP error -32602: Output validation error: Invalid structured content for tool post";
    expect(errors?.test(late)).toBe(false);
  });

  it("say nothing about a server that Writ does not know", () => {
    expect(errorsWithoutEffect(["npx", "-y", "@acme/server-memory-of-acme"])("post")).toBeNull();
  });

  it("say nothing about a tool that checks again between its changes", () => {
    const errors = errorsWithoutEffect(["npx", "@playwright/mcp"]);
    expect(errors("browser_fill_form")).toBeNull();
    expect(errors("browser_click")).not.toBeNull();
  });
});
