import type { HandlerResult } from "../../core/decide/handler-result.ts";
import type { OutputBlobs } from "../../core/event/output-blobs.ts";
import type { Parsed } from "../../core/ports/schema.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import { outputAsPlainData } from "../ports/output-as-plain-data.ts";
import { jsonBytesAtMost, redactOutput, toStorableJsonOrNull } from "../ports/storable-json.ts";
import type { CallPorts } from "./call-ports.ts";

/** The tool whose output is read. */
interface OutputSource {
  readonly tool: Tool;
  /** False: the output is not checked against the output schema, because it is that of a compensation. */
  readonly checksOutput: boolean;
}

/** Returns the end of a call from its output, which is made plain data first. */
export function readOutput(
  ports: Pick<CallPorts, "limits">,
  { tool, checksOutput }: OutputSource,
  value: unknown,
): HandlerResult {
  const plain = outputAsPlainData(value);
  if (isJsonObject(plain.value) && reportsFailure(plain.value))
    return { how: "error", fault: reportedFault(ports, tool, plain.value) };
  const parsed: Parsed = checksOutput ? tool.output.parse(plain.value) : { ok: true, value: plain.value };
  const raw = parsed.ok ? parsed.value : toStorableJsonOrNull(plain.value);
  const tooLarge = sizeFlaw(ports, tool, raw, plain.contents);
  const flaw = tooLarge ?? (parsed.ok ? null : schemaFlaw(tool, parsed.fault));
  if (flaw !== null && (!checksOutput || acceptsAnything(tool.output)))
    return { how: "value", output: { omitted: flaw.message }, flaw: null };
  if (tooLarge !== null) return { how: "value", output: null, flaw };
  const output = redactOutput(raw, tool);
  if (plain.contents === null) return { how: "value", output, flaw };
  const contents = contentsOf(output, plain.contents);
  return Object.keys(contents).length === 0 ? { how: "value", output, flaw } : { how: "value", output, flaw, contents };
}

function schemaFlaw(tool: Tool, { message }: Fault): Fault {
  return fault("SCHEMA_VALIDATION_FAILED", `${tool.name}: its output does not match its output schema: ${message}`);
}

/** Returns the fault of an output that is too large to be recorded, or null. */
function sizeFlaw(
  { limits: { outputBytes: most } }: Pick<CallPorts, "limits">,
  { name }: Tool,
  output: Json,
  contents: OutputBlobs | null,
): Fault | null {
  let bytes = jsonBytesAtMost(output) <= most ? 0 : Buffer.byteLength(JSON.stringify(output));
  for (const content of Object.values(contents ?? {})) bytes += content.length;
  if (bytes <= most) return null;
  return fault("LIMIT_EXCEEDED", `${name} answered ${bytes} bytes, the limit is ${most}; return a reference instead`);
}

/** True for the schema of a tool that declares no output. Such a tool never fails for its output. */
function acceptsAnything({ json }: Tool["output"]): boolean {
  return isJsonObject(json) && Object.keys(json).every((keyword) => ANNOTATIONS.has(keyword));
}

/** The keywords of a JSON Schema that refuse no value. */
const ANNOTATIONS: ReadonlySet<string> = new Set(["$schema", "$id", "$comment", "title", "description", "examples"]);

/** Returns the bytes that an output still refers to: its schema or `redact` may have removed references. */
function contentsOf(output: Json, contents: OutputBlobs): OutputBlobs {
  const text = JSON.stringify(output);
  return Object.fromEntries(Object.entries(contents).filter(([sha256]) => text.includes(`"blob":"${sha256}"`)));
}

/** Returns whether an output reports a failure by `success: false`, or by `isError` as in MCP. */
function reportsFailure({ success, isError }: JsonObject): boolean {
  return success === false || isError === true;
}

/** Returns the fault of a reported failure. It keeps the `value` of the answer, redacted, unless it is too large. */
function reportedFault({ limits }: Pick<CallPorts, "limits">, tool: Tool, answer: JsonObject): Fault {
  // The pointers of secrets may begin at the answer or at its value.
  const whole = redactOutput(toStorableJsonOrNull(answer), tool);
  const read = isJsonObject(whole) ? whole : {};
  const message = `${tool.name} answered ${failureText({ ...read, success: answer.success ?? null })}`;
  const stored = read.value === undefined ? undefined : redactOutput(read.value, tool);
  const fits = stored !== undefined && jsonBytesAtMost(stored) <= limits.outputBytes;
  return fits ? fault("TOOL_FAILED", message, { value: stored }) : fault("TOOL_FAILED", message);
}

/** Returns the text of a reported failure. */
function failureText({ success, error, message, content }: JsonObject): string {
  const [first] = Array.isArray(content) ? (content as readonly Json[]) : [];
  const text = error ?? message ?? (isJsonObject(first) ? first.text : undefined);
  const what = success === false ? "success: false" : "isError";
  return typeof text === "string" ? `${what}, ${text.slice(0, 2000)}` : what;
}
