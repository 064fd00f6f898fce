import type { Resource } from "../../core/ports/resource.ts";
import type { Slice } from "../../core/state/slice.ts";
import type { ResourceSnapshot, Snapshot } from "../../core/state/snapshot.ts";
import { makeBuiltInTool } from "../../core/tool/make-built-in-tool.ts";
import type { Tool, ToolContext } from "../../core/tool/tool.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import { builtInToolSchema } from "../ports/built-in-tool-schema.ts";
import { restoreSlices, snapshotProblem } from "../state/restore-slices.ts";
import { tagsProblem } from "../state/slice-snapshots.ts";
import { snapshotVerbs } from "../state/snapshot-verbs.ts";

type Resources = Readonly<Record<string, Resource>>;

/** Returns the tools of `engine.checkpoints.take` and `engine.checkpoints.load`. No plan can name them. */
export function makeSnapshotTools(slices: readonly Slice[], resources: Resources): readonly Tool[] {
  const captured = Object.fromEntries(Object.keys(resources).map((name) => [name, "handle"] as const));
  return [
    makeBuiltInTool({
      name: snapshotVerbs.take,
      effect: "writes",
      description: "Takes a snapshot of state and resources: { tags, contents }.",
      input: builtInToolSchema({ type: "object" }, takeProblem),
      output: builtInToolSchema({}, () => null),
      resources: captured,
      run: async (input, context) => takeSnapshot(resources, input as JsonObject, context),
    }),
    makeBuiltInTool({
      name: snapshotVerbs.load,
      effect: "writes",
      description: "Changes state and resources to those of a snapshot: { snapshot, preserve_logs }.",
      input: builtInToolSchema({ type: "object", required: ["snapshot"] }, (input) => loadProblem(resources, input)),
      output: builtInToolSchema({}, () => null),
      resources: captured,
      run: async (input, context) => {
        const { snapshot, preserve_logs } = input as JsonObject;
        return load(slices, resources, snapshot as unknown as Snapshot, preserve_logs !== false, context);
      },
    }),
  ];
}

function takeProblem({ tags = {}, contents = false, ...rest }: JsonObject): string | null {
  const isKnown = Object.keys(rest).length === 0 && typeof contents === "boolean";
  return isKnown ? tagsProblem(tags) : "it takes { tags, contents }";
}

/** Returns why a snapshot cannot be loaded with its resources, or null. */
function loadProblem(known: Resources, { snapshot, preserve_logs = true, ...rest }: JsonObject): string | null {
  if (!isJsonObject(snapshot) || typeof preserve_logs !== "boolean" || Object.keys(rest).length > 0)
    return "it takes { snapshot, preserve_logs }";
  const problem = snapshotProblem(snapshot);
  if (problem !== null) return problem;
  const parts = Object.entries((snapshot.resources ?? {}) as JsonObject);
  return parts.map(([name, part]) => partProblem(known, name, part)).find((found) => found !== null) ?? null;
}

function partProblem(known: Resources, name: string, part: Json): string | null {
  if (!isJsonObject(part)) return `its resource ${name} is no object`;
  if (part.contents === undefined)
    return `its resource ${name} has no contents; restore it in its own store, take it with contents, or pass resources: "leave"`;
  const contents = Object.hasOwn(known, name) ? known[name]?.contents : undefined;
  if (contents === undefined) return `this engine has no resource ${name} that can be loaded`;
  const problem = contents.problem(part.contents);
  return problem === null ? null : `the contents of its resource ${name} cannot be used: ${problem}`;
}

/** The resources of a snapshot, as the event of its call records them. */
export interface TakenSnapshot {
  readonly tags: Snapshot["tags"];
  readonly resources: Snapshot["resources"];
}

async function takeSnapshot(
  resources: Resources,
  { tags = {}, contents = false }: JsonObject,
  context: ToolContext,
): Promise<Json> {
  const taken: TakenSnapshot = {
    tags: tags as Snapshot["tags"],
    resources: await snapshotResources(resources, Object.keys(resources), contents === true, context),
  };
  return taken as unknown as Json;
}

/** Returns the named resources as a call sees them. */
export async function snapshotResources(
  resources: Resources,
  names: readonly string[],
  withContents: boolean,
  context: Pick<ToolContext, "resource">,
): Promise<Snapshot["resources"]> {
  const parts: Record<string, ResourceSnapshot> = {};
  for (const name of [...names].sort()) {
    const resource = resources[name] as Resource;
    parts[name] = {
      resource: resource.name,
      host: resource.host,
      revision: withContents ? null : ((await resource.revision?.()) ?? null),
      ...(withContents && (await contentsOf(resource, name, context))),
    };
  }
  return parts;
}

async function contentsOf(
  { contents }: Resource,
  name: string,
  context: Pick<ToolContext, "resource">,
): Promise<Pick<ResourceSnapshot, "contents">> {
  return contents === undefined ? {} : { contents: await contents.read(context.resource(name)) };
}

/** Loads state and resources as the changes of one call: if a part fails, the whole call is undone. */
async function load(
  slices: readonly Slice[],
  resources: Resources,
  snapshot: Snapshot,
  preserveLogs: boolean,
  context: ToolContext,
): Promise<Json> {
  const loaded = Object.entries(snapshot.resources ?? {});
  for (const [name, { contents }] of loaded) {
    const resource = resources[name]?.contents;
    if (resource === undefined || contents === undefined)
      throw new FaultError(fault("RESOURCE_ELSEWHERE", `this engine has no resource ${name} that can be loaded`));
    await resource.replace(context.resource(name), contents);
  }
  restoreSlices(slices, snapshot, context, preserveLogs);
  return { slices: Object.keys(snapshot.slices).length, resources: loaded.map(([name]) => name) };
}
