import type { HandlerResult } from "../../core/decide/command.ts";
import type { Parsed } from "../../core/ports/schema.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import { plainOutput } from "../ports/plain-output.ts";
import { jsonBytesAtMost, redactOutput, toStorableJsonOrNull } from "../ports/storable-json.ts";
import { errorText } from "../ports/thrown-fault.ts";
import type { CallPorts } from "./call-ports.ts";

/** The tool whose output is read. */
interface OutputSource {
  readonly tool: Tool;
  /** False: the output is not checked against the output schema, because it is that of a compensation. */
  readonly checksOutput: boolean;
}

/** Returns the end of a call from its output. Reading it can run getters of the tool; if one throws, it is unreadable. */
export function readOutput(ports: Pick<CallPorts, "limits">, source: OutputSource, value: unknown): HandlerResult {
  try {
    return checkOutput(ports, source, value);
  } catch (error) {
    const message = `${source.tool.name}: its output cannot be read: ${errorText(error)}`;
    return { how: "value", output: null, flaw: fault("SCHEMA_VALIDATION_FAILED", message) };
  }
}

function checkOutput(
  ports: Pick<CallPorts, "limits">,
  { tool, checksOutput }: OutputSource,
  value: unknown,
): HandlerResult {
  const refusal = isJsonObject(value as Json) ? reportedFailure(value as JsonObject) : null;
  if (refusal !== null) return { how: "error", fault: reportedFault(ports, tool, value as JsonObject, refusal) };
  const parsed = checksOutput ? parseOutput(tool, value) : { ok: true as const, value: toStorableJsonOrNull(value) };
  const raw = parsed.ok ? parsed.value : toStorableJsonOrNull(value);
  const most = ports.limits.outputBytes;
  const bytes = jsonBytesAtMost(raw) <= most ? 0 : Buffer.byteLength(JSON.stringify(raw));
  if (bytes > most) {
    const message = `${tool.name} answered ${bytes} bytes, the limit is ${most}; return a reference instead`;
    return { how: "value", output: null, flaw: fault("LIMIT_EXCEEDED", message) };
  }
  const output = redactOutput(raw, tool);
  if (parsed.ok) return { how: "value", output, flaw: null };
  return {
    how: "value",
    output,
    flaw: fault(
      "SCHEMA_VALIDATION_FAILED",
      `${tool.name}: its output does not match its output schema: ${parsed.fault.message}`,
    ),
  };
}

/** A value that the schema refuses is judged again as plain data, such as null for nothing and a text for a date. */
function parseOutput({ output }: Tool, value: unknown): Parsed {
  const parsed = output.parse(value);
  if (parsed.ok) return parsed;
  const plain = plainOutput(value);
  return plain === value ? parsed : output.parse(plain);
}

/** Returns the fault of a reported failure. It keeps the `value` of the answer, redacted, unless it is too large. */
function reportedFault({ limits }: Pick<CallPorts, "limits">, tool: Tool, answer: JsonObject, refusal: string): Fault {
  const message = `${tool.name} answered ${refusal}`;
  // The pointers of secrets may begin at the answer or at its value.
  const whole = redactOutput(toStorableJsonOrNull(answer), tool);
  const value = isJsonObject(whole) ? whole.value : undefined;
  const stored = value === undefined ? undefined : redactOutput(value, tool);
  const fits = stored !== undefined && jsonBytesAtMost(stored) <= limits.outputBytes;
  return fits ? fault("TOOL_FAILED", message, { value: stored }) : fault("TOOL_FAILED", message);
}

/** Returns the failure that an output reports by `success: false`, or by `isError` as in MCP; else null. */
function reportedFailure({ success, isError, error, message, content }: JsonObject): string | null {
  if (success !== false && isError !== true) return null;
  const [first] = Array.isArray(content) ? (content as readonly Json[]) : [];
  const text = error ?? message ?? (isJsonObject(first) ? first.text : undefined);
  const what = success === false ? "success: false" : "isError";
  return typeof text === "string" ? `${what}, ${text.slice(0, 2000)}` : what;
}
