import type { Tool } from "../core/tool/tool.ts";
import type { Json, JsonObject } from "../core/values/json.ts";
import type { Engine, PrincipalInput } from "../engine/api/engine-api.ts";
import type { RunHandle } from "../engine/api/run-handle-api.ts";
import { digestOfJson } from "../engine/ports/digest.ts";
import { defineSlice } from "../schema/define-slice.ts";
import { defineTool } from "../schema/define-tool.ts";
import { definitionDigest } from "./define-mcp-tool.ts";
import type { McpToolDefinition } from "./mcp-protocol.ts";

const pinSchema = {
  type: "object",
  properties: { digest: { type: "string" }, definition: { type: "object" } },
  required: ["digest", "definition"],
  additionalProperties: false,
} as const;

interface ToolPinEntry {
  readonly digest: string;
  readonly definition: JsonObject;
}

/** The definitions of the tools of MCP servers that were accepted, by `server/tool`. */
export const mcpPinSlice = defineSlice({ name: "mcp_pins", shape: "map", entry: pinSchema });

/** Pins all tools of a server that the gateway sees for the first time. */
const pinTools = defineTool({
  name: "mcp.pin_tools",
  effect: "writes",
  description: "Pins the tools of an MCP server that is used for the first time.",
  input: {
    type: "object",
    properties: { server: { type: "string" }, tools: { type: "object", additionalProperties: pinSchema } },
    required: ["server", "tools"],
    additionalProperties: false,
  },
  output: { type: "object" },
  stateReads: ["mcp_pins"],
  stateWrites: ["mcp_pins"],
  run: (input, { slice }) => {
    const { server, tools } = input as unknown as { server: string; tools: Record<string, ToolPinEntry> };
    const pins = slice(mcpPinSlice);
    // Another gateway may have pinned them meanwhile. A person accepts what differs.
    if (pins.where((_, key) => key.startsWith(`${server}/`)).length > 0) return { pinned: 0 };
    for (const [tool, pin] of Object.entries(tools)) pins.set(`${server}/${tool}`, pin as unknown as Json);
    return { pinned: Object.keys(tools).length };
  },
});

/** Accepts a tool that was added or changed. Its risk is high, so that a person decides. */
const acceptTool = defineTool({
  name: "mcp.accept_tool",
  effect: "writes",
  risk: "high",
  description: "Accepts a tool that an MCP server has added or changed since its tools were pinned.",
  input: {
    type: "object",
    properties: { server: { type: "string" }, tool: { type: "string" }, before: {}, after: pinSchema },
    required: ["server", "tool", "before", "after"],
    additionalProperties: false,
  },
  output: { type: "object" },
  stateWrites: ["mcp_pins"],
  run: (input, { slice }) => {
    const { server, tool, after } = input as unknown as { server: string; tool: string; after: ToolPinEntry };
    slice(mcpPinSlice).set(`${server}/${tool}`, after as unknown as Json);
    return { accepted: `${server}/${tool}` };
  },
});

export const pinningTools: readonly Tool[] = [pinTools, acceptTool];

interface PinOptions {
  readonly principal: PrincipalInput;
  readonly project: string;
}

/** The pinned tools of the servers behind a gateway, in the state of its project. */
export class ToolPins {
  readonly #engine: Engine;
  readonly #options: PinOptions;

  constructor(engine: Engine, options: PinOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** Returns the tools that may be used: those that are as they were pinned. Pins all tools of a new server. */
  async accepted(server: string, definitions: readonly McpToolDefinition[]): Promise<ReadonlySet<string>> {
    if ((await this.#pinsOf(server)).size === 0) await this.#pinAll(server, definitions);
    const pins = await this.#pinsOf(server);
    const isPinned = (definition: McpToolDefinition) =>
      pins.get(definition.name)?.digest === definitionDigest(definition);
    return new Set(definitions.filter(isPinned).map(({ name }) => name));
  }

  /** Asks a person to accept a tool that was added or changed. The same change is one request. */
  async askToAccept(server: string, definition: McpToolDefinition): Promise<RunHandle> {
    const before = (await this.#pinsOf(server)).get(definition.name) ?? null;
    const payload = { server, tool: definition.name, before, after: pinOf(definition) } as unknown as JsonObject;
    const requestKey = `accept ${digestOfJson(payload)}`;
    const plan = { steps: [{ step_id: "accept", name: acceptTool.name, payload }] };
    return this.#engine.submit(plan, { ...this.#options, requestKey });
  }

  async #pinAll(server: string, definitions: readonly McpToolDefinition[]): Promise<void> {
    const tools = Object.fromEntries(definitions.map((definition) => [definition.name, pinOf(definition)]));
    const { step } = await this.#engine.call(pinTools, { server, tools } as unknown as Json, this.#options);
    if (step.state !== "succeeded")
      throw new Error(`the tools of MCP server ${server} were not pinned: ${step.fault?.message ?? step.state}`);
  }

  async #pinsOf(server: string): Promise<ReadonlyMap<string, ToolPinEntry>> {
    const { principal, project } = this.#options;
    const pins = (await this.#engine.state({ principal, project })).slice(mcpPinSlice);
    const prefix = `${server}/`;
    return new Map(
      pins
        .where((_, key) => key.startsWith(prefix))
        .map(([key, pin]) => [key.slice(prefix.length), pin as unknown as ToolPinEntry] as const),
    );
  }
}

function pinOf(definition: McpToolDefinition): ToolPinEntry {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  const fields = { name, title, description, inputSchema, outputSchema, annotations };
  return { digest: definitionDigest(definition), definition: JSON.parse(JSON.stringify(fields)) as JsonObject };
}
