import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "../src/core/ports/resource.ts";
import type { Tool, ToolContext } from "../src/core/tool/tool.ts";
import { FaultError, fault } from "../src/core/values/fault.ts";
import type { Json } from "../src/core/values/json.ts";
import type { Filesystem } from "../src/resources/filesystem-handle.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { agentPrincipal, personAna, type ScenarioRun, type ScenarioStart, type ScenarioWorld } from "./scenario.ts";

export const tallySlice = defineSlice({ name: "tally", shape: "map", entry: { type: "integer" } });

/** Increments a count in state. The plan asserts the final count, so a lost or repeated call is found. */
export function countTool(world: ScenarioWorld): Tool {
  return defineTool({
    name: "count",
    effect: "writes",
    input: { type: "object" },
    output: { type: "integer" },
    run: async (_, { slice }) => {
      const count = Number(slice(tallySlice).get("n") ?? 0) + 1;
      slice(tallySlice).set("n", count);
      world.at("tool.called");
      return count;
    },
  });
}

/** A copy in state of the count in the files; both must always be equal. */
export const filedSlice = defineSlice({ name: "filed", shape: "map", entry: { type: "integer" } });

/** Returns two working trees beside the world log. */
export function fileTrees(world: string): Readonly<Record<string, Resource>> {
  return { files: fileTree(`${world}.tree`), copies: fileTree(`${world}.copies`) };
}

function fileTree(root: string): Resource {
  mkdirSync(root, { recursive: true });
  const count = join(root, "count");
  if (!existsSync(count)) writeFileSync(count, "0");
  return new HostFilesystem({ root });
}

/** Increments a count in two files and in state. With `failsFirst`, the first attempt fails after all writes. */
export function fileCountTool(world: ScenarioWorld): Tool {
  return defineTool({
    name: "file",
    effect: "writes",
    input: { type: "object" },
    output: { type: "integer" },
    resources: { files: "handle", copies: "raw" },
    run: async (input, context) => {
      const count = (await readCount(context)) + 1;
      world.at("tool.called");
      await context.resource<Filesystem>("files").write("count", String(count));
      world.at("tool.sent");
      await context.resource<Filesystem>("copies").write("count", String(count));
      context.slice(filedSlice).set("n", count);
      if ((input as { failsFirst?: boolean }).failsFirst === true && context.attempt === 1)
        throw new FaultError(fault("DEPENDENCY_UNAVAILABLE", "the first attempt fails"));
      return count;
    },
  });
}

/** Returns the count. */
export function readCountTool(): Tool {
  return defineTool({
    name: "look",
    effect: "writes",
    input: { type: "object" },
    output: { type: "integer" },
    resources: { files: "handle", copies: "handle" },
    run: (_, context) => readCount(context),
  });
}

async function readCount({ slice, resource }: ToolContext): Promise<number> {
  const expected = Number(slice(filedSlice).get("n") ?? 0);
  for (const name of ["files", "copies"]) {
    const count = Number(await resource<Filesystem>(name).readText("count"));
    if (count !== expected)
      throw new FaultError(fault("STATE_INVALID", `the count is ${expected} in state, but ${count} in ${name}`));
  }
  return expected;
}

/** Calls the read tool until files and state can be read, and returns their common count. */
export async function waitForMatchingState(
  { engine }: Pick<ScenarioStart, "engine">,
  scenario = "filing",
): Promise<Json> {
  // One request key, so that a repetition after a fault is the same call.
  const as = { principal: agentPrincipal, project: scenario, requestKey: randomUUID() };
  for (;;) {
    try {
      const { step } = await engine.call(`${scenario}.look`, {}, as);
      if (step.state === "succeeded") return step.output;
      throw new Error(`the count cannot be read: ${JSON.stringify(step)}`);
    } catch (error) {
      if (!(error instanceof FaultError) || error.fault.code !== "STORE_FAILED") throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** Restores state and files to the checkpoint before the second step, once the run has ended. */
export async function restoreSecondStep({ engine, result, worldLog }: ScenarioRun): Promise<boolean> {
  if (!result.final) return false;
  const events = (await engine.run(result.run_id, { principal: personAna })).events();
  let isRestored = false;
  for await (const { event } of events) isRestored ||= event.type === "state.restored";
  const count = await waitForMatchingState({ engine });
  if (count !== (isRestored ? 1 : 2))
    throw new Error(`the count is ${count}, but the journal implies ${isRestored ? 1 : 2}`);
  if (isRestored) return false;
  await engine.checkpoints.restore({ runId: result.run_id, stepId: "two", side: "before" }, { principal: personAna });
  worldLog.recordReport("state.restored");
  return true;
}
