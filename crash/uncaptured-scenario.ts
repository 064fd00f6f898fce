import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Resource } from "../src/core/ports/resource.ts";
import type { Tool } from "../src/core/tool/tool.ts";
import { FaultError, fault } from "../src/core/values/fault.ts";
import type { Filesystem } from "../src/resources/filesystem-handle.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { personAna, type Scenario, type ScenarioRun, type ScenarioWorld } from "./scenario.ts";

/** Returns a working tree whose captures every new process finds deleted. */
function treeWithoutCaptures(world: string): Readonly<Record<string, Resource>> {
  const root = `${world}.uncaptured`;
  rmSync(join(dirname(root), `.${basename(root)}.writ`), { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  if (!existsSync(join(root, "count"))) writeFileSync(join(root, "count"), "0");
  return { work: new HostFilesystem({ root }) };
}

/** Changes a file in two writes. Fails if it finds the file as an attempt that was cut off left it. */
function twoWritesTool(world: ScenarioWorld): Tool {
  return defineTool({
    name: "rewrite",
    effect: "writes",
    input: { type: "object" },
    output: { type: "string" },
    resources: { work: "raw" },
    run: async (_, { resource }) => {
      const path = join(String(resource<Filesystem>("work").root), "count");
      const found = readFileSync(path, "utf8");
      if (found !== "0") throw new FaultError(fault("STATE_INVALID", `the call was repeated on "${found}"`));
      writeFileSync(path, "half");
      world.at("tool.called");
      writeFileSync(path, "1");
      world.at("tool.sent");
      return "1";
    },
  });
}

/** Puts the file in order after a call that cannot be restored, and resumes the run. Throws if the record is false. */
async function repairAsPerson({ engine, result, worldLog }: ScenarioRun): Promise<boolean> {
  const { run_id } = result;
  const as = { principal: personAna, reason: "the file is in order" };
  const count = join(`${worldLog.path}.uncaptured`, "count");
  for await (const { event } of (await engine.run(run_id, { principal: personAna })).events())
    if (event.type === "step.restored") throw new Error("a restore is on record that was not made");
  if (result.status === "completed" && readFileSync(count, "utf8") !== "1")
    throw new Error(`the call has succeeded, and the file contains "${readFileSync(count, "utf8")}"`);
  if (!result.final || result.steps.one?.fault?.code !== "CAPTURE_NOT_FOUND") return false;
  writeFileSync(count, "0");
  await engine.resolve(run_id, "one", { ...as, as: "absent" }).catch((error) => {
    // The person resolved it before the process died.
    if (!(error instanceof FaultError) || error.fault.code !== "NOT_POSSIBLE") throw error;
  });
  await engine.resume(run_id, as);
  worldLog.recordReport("run.resumed");
  return true;
}

export const uncapturedScenario: Scenario = {
  about: "a step that changes a file, whose captures are lost with its process, until a person repairs the file",
  tools: (world) => [twoWritesTool(world)],
  resources: treeWithoutCaptures,
  steps: [
    { step_id: "one", name: "rewrite", payload: {} },
    { step_id: "is", kind: "assertion", payload: { step: "one", path: "", operator: "eq", value: "1" } },
  ],
  acts: {},
  endStatuses: ["completed"],
  settlesAllDoubts: true,
  person: repairAsPerson,
};
