import type { Verb } from "../../core/approval/verb-rules.ts";
import { parsePointer, valueAt } from "../../core/json/json-pointer.ts";
import { stateTools } from "../../core/plan/plan-context.ts";
import { parseListIndex } from "../../core/state/project-state.ts";
import type { ListDraft, MapDraft, Slice } from "../../core/state/slice.ts";
import type { Snapshot } from "../../core/state/snapshot.ts";
import { makeBuiltInTool } from "../../core/tool/make-built-in-tool.ts";
import type { Tool, ToolContext } from "../../core/tool/tool.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import { builtInToolSchema } from "../ports/built-in-tool-schema.ts";
import { restoreSlices, snapshotProblem } from "./restore-slices.ts";
import { findLocation, type SliceWriter, setDraftValue } from "./set-draft-value.ts";

/**
 * Returns the tools that steps of kind `state_read` and `state_write` call. An engine with slices has them built in.
 */
export function makeStateTools(slices: readonly Slice[]): readonly Tool[] {
  if (slices.length === 0) return [];
  return [
    makeStateTool(
      stateTools.state_read,
      "pure",
      "Returns the value at a path of the project's state: { path }.",
      readInputSchema,
      (input, context) => readState(slices, String(input.path), context),
    ),
    makeStateTool(
      stateTools.state_write,
      "writes",
      "Sets an entry, { path, value }, or dispatches { event, payload }.",
      writeInputSchema,
      (input, context) => writeState(slices, input, context),
    ),
    makeStateTool(
      STATE_LOAD_TOOL,
      "writes",
      "Makes state what a snapshot says: { snapshot }.",
      loadInputSchema,
      (input, context) => restoreSlices(slices, input.snapshot as unknown as Snapshot, context),
    ),
  ];
}

/** Returns the tool that `engine.projects.revert` calls. No plan can name it. */
export function makeRevertTool(slices: readonly Slice[]): Tool {
  return makeStateTool(
    "projects.revert" satisfies Verb,
    "writes",
    "Makes state what a snapshot of an earlier version says: { snapshot }.",
    loadInputSchema,
    (input, context) => restoreSlices(slices, input.snapshot as unknown as Snapshot, context),
  );
}

/** The tool that `engine.checkpoints.load` calls. */
export const STATE_LOAD_TOOL = "state.load";

const loadInputSchema = { type: "object", required: ["snapshot"], properties: { snapshot: { type: "object" } } };
const readInputSchema = { type: "object", required: ["path"], properties: { path: { type: "string" } } };
const writeInputSchema = {
  type: "object",
  properties: { path: { type: "string" }, value: {}, event: { type: "string" }, payload: {} },
};

/** The check of each input schema; it returns the problem of an input, or null. */
const inputProblems = new Map<Json, (value: JsonObject) => string | null>([
  [readInputSchema, readProblem],
  [writeInputSchema, writeProblem],
  [loadInputSchema, loadProblem],
]);

function makeStateTool(
  name: string,
  effect: "pure" | "writes",
  description: string,
  json: Json,
  run: (input: JsonObject, context: ToolContext) => Json,
): Tool {
  return makeBuiltInTool({
    name,
    effect,
    description,
    input: builtInToolSchema(json, inputProblems.get(json) ?? writeProblem),
    output: builtInToolSchema({}, () => null),
    run: async (input, context) => run(input as JsonObject, context),
  });
}

function loadProblem({ snapshot }: JsonObject): string | null {
  if (!isJsonObject(snapshot)) return "it takes { snapshot }";
  const { resources = {} } = snapshot;
  if (isJsonObject(resources) && Object.keys(resources).length > 0)
    return "it has resources, which only `engine.checkpoints.load` loads";
  return snapshotProblem(snapshot);
}

function readProblem({ path, ...rest }: JsonObject): string | null {
  return isStatePointer(path) && Object.keys(rest).length === 0
    ? null
    : "it takes { path }, a JSON pointer such as /slice/key";
}

function writeProblem({ path, value, event, payload, ...rest }: JsonObject): string | null {
  const sets = isStatePointer(path) && value !== undefined && event === undefined && payload === undefined;
  const dispatches = typeof event === "string" && path === undefined && value === undefined;
  return (sets || dispatches) && Object.keys(rest).length === 0
    ? null
    : "it takes { path, value }, or { event, payload }";
}

function isStatePointer(path: Json | undefined): boolean {
  return typeof path === "string" && (parsePointer(path)?.length ?? 0) > 0;
}

function readState(slices: readonly Slice[], path: string, context: ToolContext): Json {
  const { slice, key, inside } = findLocation(slices, path);
  const found = context.slice(slice);
  if (key === null)
    return slice.shape === "list"
      ? (found as ListDraft<Json>).all()
      : Object.fromEntries((found as MapDraft<Json>).all());
  if (slice.shape === "map") return (found as MapDraft<Json>).get(key, inside) ?? null;
  const entry = (found as ListDraft<Json>).get(parseListIndex(key) ?? -1);
  return entry === undefined ? null : (valueAt(entry, inside) ?? null);
}

function writeState(
  slices: readonly Slice[],
  { path, value = null, event, payload = null }: JsonObject,
  context: ToolContext,
): Json {
  if (typeof event === "string") {
    context.dispatch(event, payload);
    return { event };
  }
  setDraftValue(slices, { state: String(path), value }, (slice) => context.slice(slice) as SliceWriter);
  return { path: String(path) };
}
