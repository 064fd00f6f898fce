import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "../src/core/ports/resource.ts";
import type { Tool } from "../src/core/tool/tool.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { personAna, type Scenario, type ScenarioRun, type ScenarioWorld } from "./scenario.ts";
import { readWorldEntries } from "./world-log.ts";

const fileIn = (world: string) => join(`${world}.watched`, "page");

function watchedTree(world: string): Readonly<Record<string, Resource>> {
  mkdirSync(`${world}.watched`, { recursive: true });
  if (!existsSync(fileIn(world))) writeFileSync(fileIn(world), "draft");
  return { page: new HostFilesystem({ root: `${world}.watched` }) };
}

/** Another program changes a file in two writes while the call waits for it. The world knows what each attempt found. */
function watchTool(world: ScenarioWorld): Tool {
  return defineTool({
    name: "watch",
    effect: "writes",
    input: { type: "object" },
    output: { type: "string" },
    resources: { page: "watched" },
    run: async () => {
      const path = fileIn(world.worldLog.path);
      world.worldLog.append({ did: "found", to: readFileSync(path, "utf8") });
      writeFileSync(path, "half");
      world.at("tool.called");
      writeFileSync(path, "whole");
      world.at("tool.sent");
      return "whole";
    },
  });
}

/** Goes back to the checkpoint before the call. It must hold the file as the last attempt found it. */
async function restoreWatched({ engine, result, worldLog }: ScenarioRun): Promise<boolean> {
  if (!result.final) return false;
  const found = readWorldEntries(worldLog.path).findLast(({ did }) => did === "found")?.to;
  let isRestored = false;
  for await (const { event } of (await engine.run(result.run_id, { principal: personAna })).events()) {
    if (event.type === "step.failed") throw new Error("the call has failed");
    isRestored ||= event.type === "state.restored";
  }
  const expected = isRestored ? found : "whole";
  const content = readFileSync(fileIn(worldLog.path), "utf8");
  if (content !== expected) throw new Error(`the file contains "${content}" instead of "${expected}"`);
  if (isRestored) return false;
  await engine.checkpoints.restore({ runId: result.run_id, stepId: "watch", side: "before" }, { principal: personAna });
  worldLog.recordReport("state.restored");
  return true;
}

export const watchedScenario: Scenario = {
  about: "a step during which another program changes a watched file, until a person restores its checkpoint",
  tools: (world) => [watchTool(world)],
  resources: watchedTree,
  project: "watching",
  steps: [{ step_id: "watch", name: "watch", payload: {} }],
  acts: {},
  endStatuses: ["completed"],
  settlesAllDoubts: true,
  person: restoreWatched,
};
