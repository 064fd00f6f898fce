import type { Snapshot } from "../src/core/state/snapshot.ts";
import { FaultError } from "../src/core/values/fault.ts";
import { personAna, type Scenario, type ScenarioRun } from "./scenario.ts";
import { fileCountTool, filedSlice, fileTrees, readCountTool, waitForMatchingState } from "./state-and-file-tools.ts";

const project = "snapshot";

/** Every call has a request key, so that a repetition after a kill is the same call. */
const keyed = (requestKey: string) => ({ principal: personAna, project, requestKey });

/** Takes a snapshot of two trees and state, changes them, and loads it. Throws if they do not agree at any time. */
async function loadSnapshotAsPerson({ engine, result }: ScenarioRun): Promise<boolean> {
  if (!result.final) return false;
  const snapshot = await untilStored(() => engine.checkpoints.take({ ...keyed("take"), contents: true }));
  assertCount(snapshot, 2);
  await untilStored(() => engine.call("snapshot.file", {}, keyed("change")));
  const loaded = await untilStored(() => engine.checkpoints.load(snapshot, keyed("load")));
  if (loaded.step.state !== "succeeded") throw new Error(`the load is ${JSON.stringify(loaded.step)}`);
  const count = await waitForMatchingState({ engine }, project);
  if (count !== 2) throw new Error(`the count is ${count} after the load of a snapshot in which it is 2`);
  return false;
}

function assertCount({ slices, resources }: Snapshot, count: number): void {
  const entries = JSON.stringify(slices.filed?.entries);
  const blob = Buffer.from(String(count)).toString("base64");
  const files = [resources.files, resources.copies].map((part) => JSON.stringify(part?.contents));
  if (entries !== JSON.stringify({ n: count }) || !files.every((text) => text?.includes(blob)))
    throw new Error(`the snapshot has the entries ${entries} and the files ${files.join(" and ")}`);
}

/** A part of the matrix makes the store fail once. */
async function untilStored<Answer>(use: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await use();
    } catch (error) {
      if (!(error instanceof FaultError) || error.fault.code !== "STORE_FAILED") throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

export const snapshotScenario: Scenario = {
  about: "a snapshot of two trees and state with their contents, which a person takes, and loads after a change",
  tools: (world) => [fileCountTool(world), readCountTool()],
  slices: [filedSlice],
  resources: fileTrees,
  project,
  steps: [
    { step_id: "one", name: "file", payload: {} },
    { step_id: "two", name: "file", payload: { failsFirst: true }, depends_on: ["one"] },
  ],
  acts: {},
  endStatuses: ["completed"],
  settlesAllDoubts: true,
  before: (start) => waitForMatchingState(start, project),
  person: loadSnapshotAsPerson,
};
