import { createEngine } from "../src/engine/engine.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { type FinalRun, readEventsAndNotices } from "./run-user-program.ts";
import { personAna } from "./scenario.ts";
import { storeFile } from "./store-files.ts";

/** The number of last events in a description. */
const MAX_EVENTS = 12;

/** Describes the steps and last events of a run. A random kill may not repeat, so a finding must contain them. */
export function describeRun({ result, events }: Pick<FinalRun, "result" | "events">): string {
  const steps = Object.entries(result.steps).map(([step, standing]) =>
    standing.fault !== undefined
      ? `${step} ${standing.state} (${standing.fault.code}: ${standing.fault.message})`
      : `${step} ${standing.state}`,
  );
  return `steps: ${steps.join(", ")}; last of ${events.length} events: ${events.slice(-MAX_EVENTS).join(", ")}`;
}

/** The number of runs in a description. */
const MAX_RUNS = 3;

/** Describes the first runs that have not ended in the store of a hung process. */
export async function describeUnendedRuns(folder: string): Promise<string> {
  try {
    const runs = await readUnendedRuns(folder);
    return runs.length === 0 ? "no run is open" : `${runs.length} open runs: ${runs.slice(0, MAX_RUNS).join("; ")}`;
  } catch (error) {
    return `its store cannot be read (${String(error)})`;
  }
}

async function readUnendedRuns(folder: string): Promise<readonly string[]> {
  const engine = await createEngine({ store: openSqlite(storeFile(folder)), tools: [], work: false });
  const descriptions: string[] = [];
  try {
    for (const { run_id } of await engine.runs({ principal: personAna })) {
      const run = await engine.run(run_id, { principal: personAna });
      const result = await run.now();
      if (!result.final)
        descriptions.push(`${run_id}: ${describeRun({ result, events: (await readEventsAndNotices(run)).events })}`);
    }
    return descriptions;
  } finally {
    await engine.close();
  }
}
