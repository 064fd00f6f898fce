import { type Fault, FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import { isObject, type Json, type JsonObject } from "../../core/json/json.ts";
import { parsePointer, pointerTo, valueAt } from "../../core/json/pointer.ts";
import { stateTools } from "../../core/plan/plan-roster.ts";
import type { Schema } from "../../core/schema.ts";
import { indexOf } from "../../core/state/project-state.ts";
import type { ListDraft, MapDraft, Slice } from "../../core/state/slice.ts";
import type { Tool, ToolContext } from "../../core/tool.ts";
import { digestOfJson } from "../digest.ts";
import { loadSnapshot, type StateSnapshot, snapshotFlaw } from "./state-snapshot.ts";

/** What steps of kind `state_read` and `state_write` call: tools like any other, that an engine with slices has by itself. */
export function toolsOfState(slices: readonly Slice[]): readonly Tool[] {
  if (slices.length === 0) return [];
  return [
    tool(
      stateTools.state_read,
      "pure",
      "What is at a place in the project's state: { path }.",
      reading,
      (input, context) => read(slices, String(input.path), context),
    ),
    tool(
      stateTools.state_write,
      "writes",
      "Sets an entry, { path, value }, or dispatches { event, payload }.",
      writing,
      (input, context) => write(slices, input, context),
    ),
    tool(stateLoad, "writes", "Makes state what a snapshot says: { snapshot }.", loading, (input, context) =>
      loadSnapshot(slices, input.snapshot as unknown as StateSnapshot, context),
    ),
  ];
}

/** What `engine.checkpoints.load` calls. */
export const stateLoad = "state.load";

const loading = { type: "object", required: ["snapshot"], properties: { snapshot: { type: "object" } } };
const reading = { type: "object", required: ["path"], properties: { path: { type: "string" } } };
const writing = {
  type: "object",
  properties: { path: { type: "string" }, value: {}, event: { type: "string" }, payload: {} },
};

/** What is wrong with an input, by what it should be. */
const flaws = new Map<Json, (value: JsonObject) => string | null>([
  [reading, readFlaw],
  [writing, writeFlaw],
  [loading, loadFlaw],
]);

function tool(
  name: string,
  effect: "pure" | "writes",
  description: string,
  json: Json,
  run: (input: JsonObject, context: ToolContext) => Json,
): Tool {
  return {
    name,
    version: "1",
    effect,
    description,
    tags: [],
    risk: "low",
    roles: [],
    preconditions: [],
    input: schema(json, flaws.get(json) ?? writeFlaw),
    output: schema({}, () => null),
    identity: null,
    timeoutMs: 30_000,
    heartbeatMs: null,
    tries: null,
    cache: "never",
    cacheTtlMs: null,
    cost: null,
    resources: {},
    stateReads: null,
    stateWrites: null,
    redact: [],
    settleAfterMs: 0,
    confirm: "none",
    idempotentForMs: null,
    errorsMean: "unknown",
    onDuplicate: "hold",
    safeIfAbsent: false,
    run: async (input, context) => run(input as JsonObject, context),
    preview: null,
    verify: null,
    compensate: null,
  };
}

function schema(json: Json, flaw: (value: JsonObject) => string | null): Schema {
  return {
    hash: digestOfJson(json) as Digest,
    json,
    parse: (value) => {
      const given = value as Json;
      const wrong = isObject(given) ? flaw(given) : flaw({});
      return wrong === null ? { ok: true, value: given } : { ok: false, fault: fault("INVALID_INPUT", wrong) };
    },
  };
}

function loadFlaw({ snapshot }: JsonObject): string | null {
  return isObject(snapshot) ? snapshotFlaw(snapshot) : "it takes { snapshot }";
}

function readFlaw({ path, ...rest }: JsonObject): string | null {
  return isPlace(path) && Object.keys(rest).length === 0
    ? null
    : "it takes { path }, a JSON pointer such as /slice/key";
}

function writeFlaw({ path, value, event, payload, ...rest }: JsonObject): string | null {
  const sets = isPlace(path) && value !== undefined && event === undefined && payload === undefined;
  const dispatches = typeof event === "string" && path === undefined && value === undefined;
  return (sets || dispatches) && Object.keys(rest).length === 0
    ? null
    : "it takes { path, value }, or { event, payload }";
}

function isPlace(path: Json | undefined): boolean {
  return typeof path === "string" && (parsePointer(path)?.length ?? 0) > 0;
}

function read(slices: readonly Slice[], path: string, context: ToolContext): Json {
  const { slice, key, inside } = placeIn(slices, path);
  const found = context.slice(slice);
  if (key === null)
    return slice.shape === "list"
      ? (found as ListDraft<Json>).all()
      : Object.fromEntries((found as MapDraft<Json>).all());
  if (slice.shape === "map") return (found as MapDraft<Json>).get(key, inside) ?? null;
  const entry = (found as ListDraft<Json>).get(indexOf(key) ?? -1);
  return entry === undefined ? null : (valueAt(entry, inside) ?? null);
}

function write(
  slices: readonly Slice[],
  { path, value = null, event, payload = null }: JsonObject,
  context: ToolContext,
): Json {
  if (typeof event === "string") {
    context.dispatch(event, payload);
    return { event };
  }
  const { slice, key, inside } = placeIn(slices, String(path));
  const draft = context.slice(slice);
  const index = key === null ? null : indexOf(key);
  if (slice.shape === "map" && key !== null) {
    if (inside === "") (draft as MapDraft<Json>).set(key, value);
    else (draft as MapDraft<Json>).setAt(key, inside, value);
  } else if (key === "-" && inside === "") (draft as ListDraft<Json>).append(value);
  else if (index !== null && inside === "") (draft as ListDraft<Json>).set(index, value);
  else throw refused(`${String(path)} is no entry; name one, or /slice/- for one more of a list`);
  return { path: String(path) };
}

interface Place {
  readonly slice: Slice;
  readonly key: string | null;
  readonly inside: string;
}

function placeIn(slices: readonly Slice[], path: string): Place {
  const [name = "", key = null, ...inside] = parsePointer(path) ?? [];
  const slice = slices.find((known) => known.name === name);
  if (slice === undefined)
    throw refused(`there is no slice ${name}; there are ${slices.map((known) => known.name).join(", ")}`);
  return { slice, key, inside: inside.reduce(pointerTo, "") };
}

function refused(message: string): FaultError {
  const why: Fault = fault("STATE_INVALID", message);
  return new FaultError(why);
}
