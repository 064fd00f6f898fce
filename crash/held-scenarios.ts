import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Filesystem } from "../src/resources/filesystem-handle.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { type HeldRequest, requestedEventTypes, requestWithApproval } from "./held-request.ts";
import { cheapSchema, personAna, type Scenario, type ScenarioRun, type ScenarioWorld } from "./scenario.ts";

const reason = "held for a person";
const as = { principal: personAna, reason };

/** A scenario whose run only precedes the held request. */
function heldScenario(about: string, request: HeldRequest, more: Partial<Scenario> = {}): Scenario {
  return {
    about,
    tools: () => [],
    steps: [{ step_id: "pause", kind: "wait", payload: { ms: 1 } }],
    acts: {},
    indirectEffects: [{ did: request.verb, to: "once" }],
    endStatuses: ["completed"],
    settlesAllDoubts: true,
    person: (recovered) => requestWithApproval(recovered, request),
    ...more,
  };
}

export const heldRetention = heldScenario(
  "a retention that a policy holds, requested by one person and approved by another",
  {
    verb: "retain",
    use: ({ engine }) => engine.retain({ ...as, endedBefore: 1 }),
    executions: async ({ engine }) => {
      const made = (await engine.retentions({ principal: personAna })).filter((each) => each.reason === reason);
      return made.filter(({ erased }) => erased !== null || made.length > 1);
    },
  },
);

const backupFile = ({ worldLog }: ScenarioRun) => `${worldLog.path}.backup.db`;

export const heldBackup = heldScenario("a backup that a policy holds, and that a second person approves", {
  verb: "backup",
  use: (recovered) => recovered.engine.backup(backupFile(recovered), as),
  executions: async (recovered) => {
    if (!existsSync(backupFile(recovered))) throw new Error("the file of the backup is missing");
    return (await recovered.engine.backups({ principal: personAna })).filter((each) => each.reason === reason);
  },
});

export const heldFork = heldScenario(
  "a fork that a policy holds, and that a second person approves",
  {
    verb: "checkpoints.fork",
    use: ({ engine, result }) =>
      engine.checkpoints.fork({ runId: result.run_id, stepId: "look", side: "after" }, { principal: personAna }),
    executions: async ({ engine }, heldIn) => {
      const forks: string[] = [];
      for (const { run_id } of await engine.runs({ principal: personAna, limit: 500 }))
        for await (const { event } of (await engine.run(run_id, { principal: personAna })).events())
          if (event.type === "run.accepted" && event.forked?.held_in === heldIn) forks.push(run_id);
      return forks;
    },
  },
  {
    tools: () => [lookTool()],
    steps: [{ step_id: "look", name: "look" }],
  },
);

function lookTool() {
  return defineTool({
    name: "look",
    effect: "writes",
    input: cheapSchema(),
    output: cheapSchema(),
    run: async () => ({ seen: true }),
  });
}

const shelf = (world: string) => `${world}.shelf`;

export const heldRestore = heldScenario(
  "a restore of a file that a policy holds, and that a second person approves",
  {
    verb: "checkpoints.restore",
    use: ({ engine, result }) =>
      engine.checkpoints.restore({ runId: result.run_id, stepId: "put", side: "before" }, as),
    executions: async ({ engine, result, worldLog }, heldIn) => {
      const found = readFileSync(join(shelf(worldLog.path), "count"), "utf8");
      if (found !== "0") throw new Error(`the file contains "${found}" after the restore`);
      return requestedEventTypes(engine, result.run_id, heldIn);
    },
  },
  {
    tools: (world) => [putTool(world)],
    steps: [{ step_id: "put", name: "put" }],
    resources: (world) => {
      const root = shelf(world);
      mkdirSync(root, { recursive: true });
      if (!existsSync(join(root, "count"))) writeFileSync(join(root, "count"), "0");
      return { shelf: new HostFilesystem({ root }) };
    },
  },
);

function putTool(world: ScenarioWorld) {
  return defineTool({
    name: "put",
    effect: "writes",
    input: cheapSchema(),
    output: cheapSchema(),
    resources: { shelf: "handle" },
    run: async (_, { resource }) => {
      world.at("tool.called");
      await resource<Filesystem>("shelf").write("count", "1");
      world.at("tool.sent");
      return { count: 1 };
    },
  });
}

/** The undo of all acts of a run. `undone` is a scenario with an act and its undo. */
export function heldUndo(undone: Scenario): Scenario {
  const request: HeldRequest = {
    verb: "undo",
    use: ({ engine, result }) => engine.undo(result.run_id, as),
    executions: async ({ engine, result }, heldIn) =>
      (await requestedEventTypes(engine, result.run_id, heldIn)).filter((type) => type === "run.undone"),
  };
  const { tools, steps, acts, endStatuses } = undone;
  return heldScenario("an undo of a run that a policy holds, and that a second person approves", request, {
    tools,
    steps,
    acts,
    endStatuses,
    person: async (recovered) => {
      await requestWithApproval(recovered, request);
      return recovered.result.final && recovered.result.steps.book?.state === "succeeded"; // It is undone now.
    },
  });
}
