import type { Json, JsonObject } from "../core/values/json.ts";
import { isJsonObject } from "../core/values/json.ts";
import type { Engine, PrincipalInput } from "../engine/api/engine-api.ts";
import type { ToolView } from "../engine/api/tool-api.ts";
import { digestOfJson } from "../engine/ports/digest.ts";
import type { McpToolDefinition } from "./mcp-protocol.ts";
import type { ServedTool, ServedTools } from "./served-tools.ts";

interface OwnToolsOptions {
  readonly engine: Engine;
  /** The agent whose rights decide which tools a client sees. */
  readonly principal: PrincipalInput;
  /** The names of the tools that clients see. Null: all. */
  readonly names: readonly string[] | null;
}

/** The tools of an engine, as MCP clients see them. They come and go with those of the engine. */
export class RegisteredTools implements ServedTools {
  readonly #options: OwnToolsOptions;
  readonly #reads = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #digest: string | null = null;

  constructor(options: OwnToolsOptions) {
    this.#options = options;
  }

  async list(): Promise<readonly ServedTool[]> {
    const { engine, principal, names } = this.#options;
    const tools = (await engine.tools.list({ principal })).filter(({ name }) => names?.includes(name) ?? true);
    for (const { name, effect } of tools) if (isRead(effect)) this.#reads.add(name);
    const served = tools.map((tool) => ({ definition: definitionOf(tool), tool: tool.name, isMcp: false }));
    this.#noteChange(served.map(({ definition }) => definition));
    return served;
  }

  isRead(tool: string): boolean {
    return this.#reads.has(tool);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** An engine does not say when its tools change. A difference is seen at the next request of any client. */
  #noteChange(definitions: readonly McpToolDefinition[]): void {
    const digest = digestOfJson(definitions as unknown as Json);
    const isFirst = this.#digest === null;
    if (digest === this.#digest) return;
    this.#digest = digest;
    if (!isFirst) for (const listener of this.#listeners) listener();
  }
}

function isRead(effect: ToolView["effect"]): boolean {
  return effect === "pure" || effect === "reads";
}

/** The annotations are what the engine enforces. */
function definitionOf({ name, description, effect, input, output }: ToolView): McpToolDefinition {
  return {
    name,
    ...(description !== "" && { description }),
    inputSchema: builtInToolSchema(input),
    ...(isObjectSchema(output) && { outputSchema: output }),
    annotations: { readOnlyHint: isRead(effect) },
  };
}

/** The protocol allows only objects as inputs. Writ judges the input by the schema of the tool. */
function builtInToolSchema(schema: Json): JsonObject {
  return isJsonObject(schema) ? { ...schema, type: "object" } : { type: "object" };
}

/** A client judges structured content by the output schema, and only an object can be structured content. */
function isObjectSchema(schema: Json): schema is JsonObject {
  return isJsonObject(schema) && schema.type === "object";
}
