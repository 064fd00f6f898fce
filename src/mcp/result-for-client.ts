import { type CallAnswer, modelText } from "../core/run/call-answer.ts";
import { utcText } from "../core/time/utc-text.ts";
import type { Json, JsonObject } from "../core/values/json.ts";

/** The result of a call, as it is sent to an MCP client. */
export interface SentResult {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
  readonly _meta: JsonObject;
  readonly [field: string]: unknown;
}

/** The tool whose call is answered. */
export interface AnsweredTool {
  /** The recorded output is the result of an MCP server. */
  readonly isMcp: boolean;
  /** Clients demand structured content from a result without an error. */
  readonly hasOutputSchema: boolean;
}

/** Returns the result that an MCP client receives for the answer of a call. */
export function resultForClient(answer: CallAnswer, tool: AnsweredTool, runId: string): SentResult {
  const _meta = { "writ/status": answer.status, "writ/run": runId, ...gateOf(answer) };
  if (answer.status === "succeeded")
    return {
      ...(tool.isMcp ? serverResult(answer.output) : ownResult(answer.output)),
      ...reusedNote(answer, tool),
      _meta,
    };
  const { text, isError } = modelText(answer);
  return { content: [{ type: "text", text }], isError: isError || tool.hasOutputSchema, _meta };
}

function gateOf(answer: CallAnswer): JsonObject {
  return answer.status === "held" ? { "writ/gate": answer.gate.gate_id } : {};
}

type Body = Pick<SentResult, "content" | "structuredContent">;

function serverResult(output: Json): Body {
  const { content, structuredContent } = output as { content?: readonly JsonObject[]; structuredContent?: JsonObject };
  return { content: content ?? [], ...(structuredContent !== undefined && { structuredContent }) };
}

function ownResult(output: Json): Body {
  const text = typeof output === "string" ? output : JSON.stringify(output);
  const isObject = typeof output === "object" && output !== null && !Array.isArray(output);
  return { content: [{ type: "text", text }], ...(isObject && { structuredContent: output as JsonObject }) };
}

/** Says that an earlier act answers. */
function reusedNote(answer: Extract<CallAnswer, { status: "succeeded" }>, tool: AnsweredTool): Partial<Body> {
  if (answer.reused === undefined) return {};
  const text = `Done earlier at ${utcText(answer.reused.at)}, not done again. Its result follows.`;
  const { content } = tool.isMcp ? serverResult(answer.output) : ownResult(answer.output);
  return { content: [{ type: "text", text }, ...content] };
}
