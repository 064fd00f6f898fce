import type { Tool, ToolContext } from "../core/tool/tool.ts";
import { FaultError, fault, notDone } from "../core/values/fault.ts";
import type { Json, JsonObject } from "../core/values/json.ts";
import { digestOfJson } from "../engine/ports/digest.ts";
import { defineTool } from "../schema/define-tool.ts";
import { callingClient } from "./calling-client.ts";
import {
  type McpClient,
  type McpProgress,
  type McpToolDefinition,
  type McpToolResult,
  mcpLimits,
  TRACE_META,
} from "./mcp-protocol.ts";

/** How the user of a server declares one of its tools. The server's own annotations decide nothing. */
export interface McpToolSettings {
  /** Default: `acts`, because nothing proves that the tool only reads. */
  readonly effect?: "reads" | "acts";
  /** Whether an error of the tool proves that nothing happened. Default: `unknown`, so an act that failed is in doubt. */
  readonly errorsMean?: Tool["errorsMean"];
  readonly risk?: Tool["risk"];
  readonly timeoutMs?: number;
  /** The fields of the input that make two calls the same act. */
  readonly identity?: readonly string[];
  readonly onDuplicate?: Tool["onDuplicate"];
}

/** The connection of a tool: how its client is obtained, and what its results may not contain. */
export interface McpToolSource {
  readonly server: string;
  /** Throws a fault that proves that nothing was sent if the server cannot be reached. */
  client(): Promise<McpClient>;
  /** Removes secrets from what the server says before it is recorded or passed on. */
  redact<Said>(said: Said): Said;
  /** The errors that prove that nothing happened; null: none is known. */
  readonly notDone: RegExp | null;
}

/** The result of an MCP tool, as it is recorded. */
const resultSchema = {
  type: "object",
  properties: {
    content: { type: "array" },
    structuredContent: {},
    isError: { type: "boolean" },
  },
} as const;

/** Makes a tool of Writ from a tool of an MCP server. Its version is the digest of its definition. */
export function defineMcpTool(
  name: string,
  definition: McpToolDefinition,
  settings: McpToolSettings,
  source: McpToolSource,
): Tool {
  const { effect = "acts", errorsMean, timeoutMs = mcpLimits.requestMs, ...rest } = settings;
  const declared = {
    name,
    version: definitionDigest(definition).slice(0, 16),
    effect,
    description: definition.description ?? definition.title ?? "",
    tags: ["mcp", `mcp:${source.server}`.slice(0, 64)],
    timeoutMs,
    ...rest,
    ...(effect === "acts" && errorsMean !== undefined && { errorsMean }),
    output: resultSchema,
    run: (input: Json, context: ToolContext) => callServer(definition.name, input as JsonObject, context, source),
  } as const;
  try {
    return defineTool({ ...declared, input: definition.inputSchema as JsonObject });
  } catch (error) {
    if (!(error instanceof FaultError) || error.fault.code !== "SCHEMA_UNUSABLE") throw error;
    // A schema that Writ cannot read is left to the server. Every input is still judged, recorded and shown.
    return defineTool({ ...declared, input: { type: "object" } });
  }
}

/** Returns the digest of everything that a server says about a tool. */
export function definitionDigest({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
}: McpToolDefinition): string {
  const fields = { name, title, description, inputSchema, outputSchema, annotations };
  return digestOfJson(JSON.parse(JSON.stringify(fields)) as Json);
}

async function callServer(name: string, input: JsonObject, context: ToolContext, source: McpToolSource): Promise<Json> {
  const connected = await source.client();
  const client = callingClient();
  client?.onBegin();
  const options = {
    signal: context.signal,
    timeout: 2 ** 31 - 1, // The timeout of the step applies.
    onprogress: (progress: McpProgress) => {
      context.heartbeat();
      client?.receive?.(source.redact({ ...progress }));
    },
  };
  const result = await connected
    .callTool({ name, arguments: input, _meta: { [TRACE_META]: context.traceparent } }, options)
    .catch((error: unknown) => {
      throw withoutSecrets(error, source);
    });
  const recorded = source.redact(toJson(result));
  if (result.isError !== true) return recorded;
  const text = errorText(recorded);
  throw source.notDone?.test(text) === true ? notDone(fault("TOOL_FAILED", text)) : new Error(text);
}

/** The error of a server is its own text. */
function withoutSecrets(error: unknown, source: McpToolSource): unknown {
  const text = error instanceof Error ? error.message : String(error);
  const redacted = source.redact(text);
  return redacted === text ? error : new Error(redacted);
}

function toJson({ content, structuredContent, isError }: McpToolResult): JsonObject {
  const fields = { content, structuredContent, isError };
  return JSON.parse(JSON.stringify(fields)) as JsonObject;
}

/** Returns the texts of a result that reports an error. */
function errorText(result: Json): string {
  const { content } = result as { readonly content?: readonly { readonly text?: unknown }[] };
  const texts = (content ?? []).flatMap((part) => (typeof part?.text === "string" ? [part.text] : []));
  return texts.join("\n").slice(0, mcpLimits.errorText) || "the tool reported an error without a text";
}
