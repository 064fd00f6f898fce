import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { repositoryPath } from "../repo/repository-path.ts";
import { told } from "./gateway-fixture.ts";

const cli = repositoryPath("dist", "cli.js");
const server = (name: string) =>
  repositoryPath("node_modules", "@modelcontextprotocol", `server-${name}`, "dist", "index.js");

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-mcp-real-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "data"));
  return folder;
}

/** Starts a program that speaks MCP, and connects a client to it. */
async function started(folder: string, args: readonly string[]): Promise<{ client: Client; pid: number }> {
  const client = new Client({ name: "editor", version: "1" });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args],
    cwd: folder,
    stderr: "ignore",
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, pid: transport.pid as number };
}

const gateway = (folder: string, command: readonly string[], options: readonly string[] = []) =>
  started(folder, [cli, "mcp", "--hold-ms", "0", ...options, "--", process.execPath, ...command]);

function writ(folder: string, ...args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [cli, ...args], { cwd: folder, encoding: "utf8" });
  expect(`${status} ${stderr}`).toMatch(/^0/);
  return stdout;
}

const anyResult = { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } } as const;
const withoutMeta = ({ _meta, ...result }: Record<string, unknown>) => result;

describe("writ mcp in front of a real server", () => {
  it.each([
    ["filesystem", "read_text_file", (folder: string) => ({ path: join(folder, "data", "a.txt") })],
    ["everything", "echo", () => ({ message: "hello" })],
    ["memory", "read_graph", () => ({})],
    [
      "sequential-thinking",
      "sequentialthinking",
      () => ({ thought: "a", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }),
    ],
  ] as const)("%s: the same tools, and the same answer to a read", async (name, tool, input) => {
    const folder = newFolder();
    writeFileSync(join(folder, "data", "a.txt"), "hello");
    const command = [server(name), ...(name === "filesystem" ? [join(folder, "data")] : [])];
    const { client: direct } = await started(folder, command);
    const { client } = await gateway(folder, command, ["--reads", tool]);
    const names = async (asked: Client) => (await asked.listTools()).tools.map((listed) => listed.name).sort();
    expect(await names(client)).toEqual(await names(direct));
    const call = { name: tool, arguments: input(folder) };
    expect(withoutMeta(await client.callTool(call))).toEqual(withoutMeta(await direct.callTool(call)));
  });

  it("a write that is approved while the gateway is dead is made once by the next gateway", async () => {
    const folder = newFolder();
    const path = join(folder, "data", "b.txt");
    const command = [server("filesystem"), join(folder, "data")];
    const call = { name: "write_file", arguments: { path, content: "once" } };
    const first = await gateway(folder, command);
    const held = told(await first.client.callTool(call));
    expect(held.status).toBe("held");
    process.kill(first.pid, "SIGKILL");
    writ(folder, "approve", held.gate, "--as", "ana");
    expect(existsSync(path)).toBe(false);
    const next = await gateway(folder, command);
    expect(told(await next.client.callTool(call)).status).toBe("succeeded");
    expect(readFileSync(path, "utf8")).toBe("once");
    const again = told(await next.client.callTool(call));
    expect(again).toMatchObject({ status: "held" });
    expect(again.gate).not.toBe(held.gate);
    expect(writ(folder, "audit")).toContain("unchanged");
  });

  it("a task whose gateway is killed is followed to its result through the next gateway", async () => {
    const folder = newFolder();
    const path = join(folder, "data", "c.txt");
    const command = [server("filesystem"), join(folder, "data")];
    const asked = { name: "write_file", arguments: { path, content: "once" }, task: {} };
    const first = await gateway(folder, command);
    const created = await first.client.request({ method: "tools/call", params: asked }, anyResult);
    const { task } = created as { readonly task: { readonly taskId: string; readonly status: string } };
    expect(task.status).toBe("working");
    const [, gate = ""] = /gate (\S+),/.exec(JSON.stringify(task)) ?? [];
    process.kill(first.pid, "SIGKILL");
    const next = await gateway(folder, command);
    const state = () => next.client.request({ method: "tasks/get", params: { taskId: task.taskId } }, anyResult);
    expect(await state()).toMatchObject({ taskId: task.taskId, status: "working" });
    writ(folder, "approve", gate, "--as", "ana");
    const params = { taskId: task.taskId };
    expect(told(await next.client.request({ method: "tasks/result", params }, anyResult)).status).toBe("succeeded");
    expect(readFileSync(path, "utf8")).toBe("once");
    expect(await state()).toMatchObject({ status: "completed" });
  });

  it("two gateways on one file serve two windows of an editor", async () => {
    const folder = newFolder();
    const command = [server("everything")];
    const clients = await Promise.all([1, 2].map(() => gateway(folder, command, ["--reads", "echo"])));
    const answers = await Promise.all(
      clients.map(({ client }, index) => client.callTool({ name: "echo", arguments: { message: `window ${index}` } })),
    );
    expect(answers.map((answer) => told(answer).text)).toEqual(["Echo: window 0", "Echo: window 1"]);
  });

  it("serves the servers of a JSON file, and refuses a file that it cannot use", async () => {
    const folder = newFolder();
    const file = join(folder, "servers.json");
    const entry = (name: string) => ({ command: process.execPath, args: [server(name)] });
    writeFileSync(file, JSON.stringify({ servers: { every: entry("everything"), notes: entry("memory") } }));
    const { client } = await started(folder, [cli, "mcp", "--config", file]);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["echo", "create_entities"]));
    writeFileSync(file, JSON.stringify({ servers: { every: { comand: "x" } } }));
    const { status, stderr } = spawnSync(process.execPath, [cli, "mcp", "--config", file], {
      cwd: folder,
      encoding: "utf8",
    });
    expect({ status, stderr }).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("either a command or a url"),
    });
  });
});
