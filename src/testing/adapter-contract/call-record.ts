import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import type { AdapterUnderTest } from "./adapter-under-test.ts";

/** The record of one call in the journal: its events in order, without the fields that differ between adapters. */
export interface CallRecord {
  /** The id that the model gave the call. */
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
  readonly events: readonly JsonObject[];
}

/**
 * The fields of events that differ between two runs or two adapters: ids, times, digests and versions; the pin of the
 * tool; texts that name the tool; the position in the conversation.
 */
const adapterFields = new Set([
  "at",
  "started_at",
  "expires_at",
  "use_by",
  "until",
  "run_id",
  "step_id",
  "gate_id",
  "sparing",
  "digest",
  "key",
  "keyed_by",
  "boot",
  "worker",
  "version",
  "pin",
  "cause",
  "step",
  "basis",
  "reason",
  "message",
  "detail",
  "notices",
  "contents",
  "base",
  "exits",
  "cost",
]);

const MODEL_TOOL = "writ.model";

/**
 * True for an event that says how an adapter reached the call: that the answer was handed to a client, that a call that
 * may start waited for the function that runs it, or that a client reported an approval.
 */
function isOfAdapter({ type, on }: JsonObject): boolean {
  if (type === "step.parked") return isToolAway(on ?? null);
  return type === "step.delivered" || type === "step.readied" || type === "gate.contested";
}

function isToolAway(on: Json): boolean {
  return isJsonObject(on) && on.for === "tool";
}

/** Reads the calls of agents in a journal, by their ids and in the order of their proposals. */
export function readCallRecords(events: readonly JsonObject[], adapter: AdapterUnderTest): readonly CallRecord[] {
  const calls = new Map<Json, { id: string; tool: string; input: Json; events: JsonObject[] }>();
  const gates = new Map<Json, Json>();
  for (const event of events) {
    const { type, gate_id = null } = event;
    const { step_id = gates.get(gate_id) ?? null } = event;
    if (type === "step.proposed") addCall(event);
    if (type === "gate.opened") gates.set(gate_id, step_id);
    if (!isOfAdapter(event)) calls.get(step_id)?.events.push(plainEvent(event, adapter));
  }
  for (const call of calls.values()) if (isUnfit(call.events.at(-1))) call.input = null;
  return [...calls.values()].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));

  function addCall({ step_id, step, cause }: JsonObject): void {
    const { name, payload } = step as { readonly name: string; readonly payload: Json };
    const { call } = cause as { readonly call?: { readonly id: string } };
    if (call === undefined || name === MODEL_TOOL) return;
    const tool = contractTools.find((own) => (adapter.toolName?.(own) ?? own) === name) ?? name;
    calls.set(step_id as Json, { id: call.id, tool, input: payload ?? null, events: [] });
  }
}

/** True if no tool takes the call. Where a framework refuses it itself, its arguments are in the answer of the model. */
function isUnfit(event: JsonObject | undefined): boolean {
  const { code } = (event?.fault ?? {}) as { readonly code?: string };
  return event?.type === "step.rejected" && (code === "INVALID_INPUT" || code === "TOOL_UNKNOWN");
}

/** The tools of the contract, and one that does not exist. */
const contractTools = ["search", "note", "send", "nosuch"];

function plainEvent({ output, ...event }: JsonObject, { outputAsPlainData }: AdapterUnderTest): JsonObject {
  const { rule, ...plain } = withoutAdapterFields(event) as JsonObject;
  // The rule of a refusal says whether the adapter or the engine has checked the arguments.
  if (event.type !== "step.rejected" && rule !== undefined) return { ...plain, rule };
  return output === undefined
    ? plain
    : { ...plain, output: outputAsPlainData === undefined ? output : outputAsPlainData(output) };
}

function withoutAdapterFields(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutAdapterFields);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !adapterFields.has(name));
  return Object.fromEntries(kept.map(([name, field]) => [name, withoutAdapterFields(field as Json)]));
}
