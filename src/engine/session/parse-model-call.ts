import type { Principal } from "../../core/approval/principal.ts";
import type { ProposedCall } from "../../core/decide/command.ts";
import type { ModelRequest } from "../../core/event/model-call.ts";
import type { AgentCause } from "../../core/event/session.ts";
import { checkJson, type JsonLimits } from "../../core/json/check-json.ts";
import { valueAt, withValueAt } from "../../core/json/json-pointer.ts";
import { callsInMessage, splitModelRequest, withoutCacheMarks } from "../../core/model/split-model-request.ts";
import type { StoredContent } from "../../core/model/stored-contents.ts";
import { planLimits, planStep } from "../../core/plan/plan.ts";
import { commonMessages, laneOf, type MessageFact, wholeMessages } from "../../core/run/model-steps.ts";
import type { Run } from "../../core/run/run.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import { isJsonObject, type Json, type JsonObject, sameJson } from "../../core/values/json.ts";
import type { ModelCallOptions } from "../api/model-api.ts";
import { modelRequestLimits } from "../api/model-request-limits.ts";
import { MODEL_TOOL } from "../call/model-call-tool.ts";
import { digestOfJson, digestOfParts } from "../ports/digest.ts";
import { callStepId } from "./proposed-calls.ts";

const requestLimits: JsonLimits = {
  bytes: modelRequestLimits.requestBytes,
  depth: 64,
  nodes: modelRequestLimits.requestNodes,
};

/** A smaller field of a request is recorded with each request; a larger one once. */
const INLINE_FIELD_MAX = 200;

/** A request to a model as it was read. */
export interface ParsedModelCall {
  readonly lane: string;
  readonly digest: Digest;
  /** The messages of the request: by their digests for comparison, and as they are recorded. */
  readonly messages: readonly MessageFact[];
  readonly recorded: readonly RecordedContent[];
  readonly follows: string | null;
  /** The fields of the request other than its messages. */
  readonly fields: JsonObject;
  readonly shared: Readonly<Record<string, RecordedContent>>;
  /** The field that holds the messages. */
  readonly field: string | null;
  readonly compacted: boolean;
  readonly timeoutMs: number | null;
  /** False: contents are not recorded. */
  readonly keepsContent: boolean;
}

/** A part of a request as it is recorded, and its digest. */
interface RecordedContent {
  readonly digest: Digest;
  readonly value: Json;
}

/** Reads a request and its options. Throws INVALID_INPUT if it cannot be recorded. */
export function parseModelCall(given: unknown, options: ModelCallOptions): ParsedModelCall {
  const request = readJsonObject(given, "the request");
  const { lane = "main", normalize, compacted = false, timeoutMs = null, redact = [], content = "record" } = options;
  if (!isName(lane)) throw invalid(`lane must be ${nameRule}`);
  if (content !== "record" && content !== "omit") throw invalid("content must be record or omit");
  if (timeoutMs !== null && !(Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= planLimits.timeoutMs))
    throw invalid(`timeoutMs must be a whole number of milliseconds, 1 to ${planLimits.timeoutMs}`);
  const compared = normalize === undefined ? request : readJsonObject(normalize(request), "the normalized request");
  const { messages, follows, head, field } = splitModelRequest(compared);
  const form = field === null ? "none" : `${typeof compared[field]} ${field}`;
  if (messages.length > modelRequestLimits.messages)
    throw new FaultError(
      fault(
        "LIMIT_EXCEEDED",
        `the request has ${messages.length} messages, the limit is ${modelRequestLimits.messages}`,
      ),
    );
  const contents = messages.map(toContent); // Each message is digested once, because a long session has thousands.
  const shown = redacted(request, redact);
  const recorded = splitModelRequest(shown);
  return {
    lane,
    digest: digestOfParts(digestOfJson(head), form, ...contents.map(({ digest }) => digest)),
    messages: contents.map(toMessageFact),
    recorded: shown === compared ? contents : recorded.messages.map(toContent),
    follows,
    field: recorded.field,
    ...splitFields(recorded.head),
    compacted: compacted === true,
    timeoutMs,
    keepsContent: content === "record",
  };
}

function readJsonObject(given: unknown, what: string): JsonObject {
  const checked = checkJson(given, requestLimits);
  if (!checked.ok) {
    const why = checked.reasons.map(({ path, message }) => `${path || "/"}: ${message}`).join("; ");
    const code = checked.tooLarge ? "LIMIT_EXCEEDED" : "INVALID_INPUT";
    throw new FaultError(fault(code, `${what} cannot be recorded: ${why}`));
  }
  if (!isJsonObject(checked.value)) throw invalid(`${what} must be an object, such as the body of the request`);
  return checked.value;
}

function invalid(message: string): FaultError {
  return new FaultError(fault("INVALID_INPUT", `the model call was refused: ${message}`));
}

function redacted(request: JsonObject, pointers: readonly string[]): JsonObject {
  if (!Array.isArray(pointers) || pointers.some((pointer) => typeof pointer !== "string"))
    throw invalid("redact must be a list of JSON pointers");
  let shown: Json = request;
  for (const pointer of pointers) {
    const secret = valueAt(shown, pointer);
    if (secret !== undefined)
      shown = withValueAt(shown as JsonObject, pointer, { redacted: digestOfJson(secret) }) ?? shown;
  }
  return shown as JsonObject;
}

function toMessageFact({ digest, value }: RecordedContent): MessageFact {
  const plain = withoutCacheMarks(value);
  return { digest: plain === value ? digest : digestOfJson(plain), calls: callsInMessage(value) };
}

function toContent(value: Json): RecordedContent {
  return { digest: digestOfJson(value), value };
}

function splitFields(head: JsonObject): Pick<ParsedModelCall, "fields" | "shared"> {
  const fields: Record<string, Json> = {};
  const shared: Record<string, RecordedContent> = {};
  for (const [name, value] of Object.entries(head)) {
    if (JSON.stringify(value).length <= INLINE_FIELD_MAX) fields[name] = value;
    else shared[name] = toContent(value);
  }
  return { fields, shared };
}

/** A model call as a step of the current run. Contents that the journal has are not recorded again. */
export interface ProposedModelCall {
  readonly call: ProposedCall & { readonly cause: AgentCause & { readonly model: ModelRequest } };
  readonly messages: readonly MessageFact[];
}

export function proposedModelCall(run: Run, principal: Principal, read: ParsedModelCall): ProposedModelCall {
  assertLane(run, read.lane);
  const lane = laneOf(run, read.lane);
  const messages = wholeMessages(lane, read.messages, read.follows);
  const keep = commonMessages(lane, messages);
  const model: ModelRequest = {
    lane: read.lane,
    digest: read.digest,
    keep,
    added: messages.slice(keep).map(({ digest }) => digest),
    ...(read.compacted && { compacted: true }),
  };
  const step = planStep({
    step_id: callStepId(run, 0),
    kind: "model",
    name: MODEL_TOOL,
    payload: requestPayload(run, read, messages, keep),
    effect: "reads",
    timeout_ms: read.timeoutMs,
  });
  const isOther = !sameJson(principal as unknown as Json, run.principal as unknown as Json);
  const cause = { by: "agent", model, handler: "caller", ...(isOther && { principal }) } as const;
  return { call: { step, pin: null, cause, refused: null }, messages };
}

function assertLane({ conversation }: Run, lane: string): void {
  const { size = 0 } = conversation?.lanes ?? {};
  if (size < modelRequestLimits.lanes || conversation?.lanes.has(lane)) return;
  throw new FaultError(fault("LIMIT_EXCEEDED", `the run has ${size} lanes, the limit is ${modelRequestLimits.lanes}`));
}

/**
 * Returns the request as the step records it: small fields as they are, larger ones and messages by their digests, and
 * the contents that are new. `recorded` lists the messages whose recorded form has another digest than the compared one.
 */
function requestPayload(run: Run, read: ParsedModelCall, messages: readonly MessageFact[], keep: number): JsonObject {
  const { fields, field } = read;
  const skipped = messages.length - read.recorded.length;
  const stored = new Map<string, Json>();
  const store = ({ digest, value }: RecordedContent) => {
    if (read.keepsContent && run.conversation?.contents.has(digest) !== true) stored.set(digest, value);
  };
  const shared: Record<string, Json> = {};
  for (const [name, content] of Object.entries(read.shared)) {
    shared[name] = content.digest;
    store(content);
  }
  const recorded: Record<string, Json> = {};
  for (const [index, content] of read.recorded.entries()) {
    const at = index + skipped;
    const isCompared = messages[at]?.digest === content.digest;
    if (!isCompared) recorded[String(at)] = content.digest;
    if (!isCompared || at >= keep) store(content);
  }
  return {
    ...(read.keepsContent ? { fields } : {}),
    ...(Object.keys(shared).length > 0 && { shared }),
    ...(field !== null && { field }),
    ...(skipped > 0 && { skipped }),
    ...(Object.keys(recorded).length > 0 && { recorded }),
    ...(stored.size > 0 && { stored: Array.from(stored) satisfies readonly StoredContent[] }),
  };
}
