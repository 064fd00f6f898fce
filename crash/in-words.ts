import { createEngine } from "../src/engine/engine.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { type Driven, journalOf } from "./program.ts";
import { ana } from "./scenario.ts";
import { storeFile } from "./store-files.ts";

/** So many events before the end are told of a story in which something is wrong. */
const LAST_EVENTS = 12;

/** Where a run stands and how it came there: what is found by chance is not found again, and has to be told from this. */
export function inWords({ result, events }: Pick<Driven, "result" | "events">): string {
  const steps = Object.entries(result.steps).map(([step, standing]) =>
    "fault" in standing
      ? `${step} ${standing.state} (${standing.fault.code}: ${standing.fault.message})`
      : `${step} ${standing.state}`,
  );
  return `steps: ${steps.join(", ")}; last of ${events.length} events: ${events.slice(-LAST_EVENTS).join(", ")}`;
}

/** Every run that has not ended in the store of a process that hung, since that cannot say what it was at. */
export async function underWay(folder: string): Promise<string> {
  try {
    const runs = await unended(folder);
    return runs.length === 0 ? "no run is under way" : runs.join("; ");
  } catch (error) {
    return `its store cannot be read (${String(error)})`;
  }
}

async function unended(folder: string): Promise<readonly string[]> {
  const engine = await createEngine({ store: sqlite(storeFile(folder)), tools: [], work: false });
  const told: string[] = [];
  try {
    for (const { run_id } of await engine.runs({ principal: ana })) {
      const run = await engine.run(run_id, { principal: ana });
      const result = await run.now();
      if (!result.final) told.push(`${run_id}: ${inWords({ result, events: (await journalOf(run)).events })}`);
    }
    return told;
  } finally {
    await engine.close();
  }
}
