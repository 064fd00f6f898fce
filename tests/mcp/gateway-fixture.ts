import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { createEngine, type Engine, type EngineOptions } from "../../src/index.ts";
import { type McpGateway, mcpGateway, mcpPinSlice, type ServerConfig } from "../../src/mcp.ts";
import { sqlite } from "../../src/sqlite.ts";
import { repositoryPath } from "../repo/repository-path.ts";

const bot = { id: "mcp", kind: "agent", tenant: "t" } as const;
export const ana = { id: "ana", kind: "person", tenant: "t" } as const;

/** A policy under which acts need a confirmation, and no approval. */
export const confirming = {
  schema_version: "1.0",
  name: "confirm",
  trust: [{ tools: ["*"], risk: "high" }],
  rules: [{ id: "acts", kind: "confirmation", on: { tools: ["notes.*"], effects: ["acts"] } }],
};

export interface GatewayStage {
  readonly folder: string;
  /** The lines that the tools of the scripted server have appended. */
  lines(): readonly string[];
  /** The number of times that the scripted server was started. */
  starts(): number;
  scripted(behaviour?: object, more?: object): ServerConfig;
  engine(options?: Partial<EngineOptions>): Promise<Engine>;
  gateway(engine: Engine, servers: Readonly<Record<string, ServerConfig>>, more?: object): Promise<Noted>;
}

type Noted = McpGateway & { readonly notes: string[] };

/** A folder with a store, and scripted MCP servers that are real processes. */
export function gatewayStage(): GatewayStage {
  const folder = mkdtempSync(join(tmpdir(), "writ-mcp-"));
  const file = join(folder, "posts");
  const closing: (() => Promise<void>)[] = [];
  onTestFinished(async () => {
    for (const close of closing.reverse()) await close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    lines: () => readLines(file),
    starts: () => readLines(`${file}.starts`).join("").length,
    scripted: (behaviour = {}, more = {}) => ({
      command: process.execPath,
      args: [repositoryPath("tests", "mcp", "scripted-server.mjs"), file, JSON.stringify(behaviour)],
      tools: { look: { effect: "reads" } },
      ...more,
    }),
    engine: async (options = {}) => {
      const store = sqlite(join(folder, "writ.db"));
      const engine = await createEngine({ store, slices: [mcpPinSlice], tools: [], work: true, ...options });
      closing.push(() => engine.close());
      return engine;
    },
    gateway: async (engine, servers, more = {}) => {
      const notes: string[] = [];
      const onNote = (text: string) => void notes.push(text);
      const gateway = await mcpGateway({ engine, servers, principal: bot, holdMs: 0, onNote, ...more });
      closing.push(() => gateway.close());
      return Object.assign(gateway, { notes });
    },
  };
}

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return [];
  }
}

/** Connects an MCP client to the gateway, in this process. */
export async function connect(gateway: McpGateway, options: ClientOptions = {}, name = "editor"): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = gateway.server();
  await server.connect(far);
  const client = new Client({ name, version: "1" }, options);
  await client.connect(near);
  onTestFinished(() => client.close());
  return client;
}

/** Returns the text and the status of a result. */
export function told(result: unknown): { readonly text: string; readonly status: unknown; readonly gate: string } {
  const { content, _meta } = result as {
    readonly content: readonly { readonly text?: string }[];
    readonly _meta: Readonly<Record<string, unknown>>;
  };
  const text = content.map((part) => part.text ?? "").join("\n");
  return { text, status: _meta["writ/status"], gate: String(_meta["writ/gate"] ?? "") };
}
