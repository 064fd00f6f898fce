import { spawnSync } from "node:child_process";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { measureTime } from "./measure-time.ts";
import { type Measurement, measurePair } from "./measurement.ts";
import { type PreparedStore, storeWithEndedRuns } from "./prepared-store.ts";
import { sampleMedian } from "./samples.ts";
import { benchPrincipal } from "./workload.ts";

const TRIES = 5;

/** Measures reading all events of one run from a file that the system does not have in memory. */
export function coldReadTime(id: string, steps: number, runs: number): Measurement {
  const ended = { effects: ["reads"], steps, order: "chain", durability: "process" } as const;
  const among = storeWithEndedRuns({ ...ended, runs, atOnce: runs });
  const alone = storeWithEndedRuns({ ...ended, runs: 1, atOnce: 1 });
  const pair = {
    engine: () => sampleMedian(TRIES, () => timeColdRead(among)),
    limit: () => sampleMedian(TRIES, () => timeColdRead(alone)),
  };
  return {
    id,
    about: `the events of a run of ${steps} steps that was executed beside ${runs - 1} others, from a file that is not in memory`,
    limitAbout: "the same of a run that is alone in its file, whose events are side by side",
    unit: "ms",
    goal: null,
    round: (order) => measurePair(order, pair),
  };
}

function timeColdRead(prepared: PreparedStore): Promise<number> {
  return prepared.withCopy(async (file) => {
    const { tenant } = benchPrincipal;
    const first = openSqlite(file);
    const [run] = await first.runs(tenant as never, "", 1);
    await first.close();
    if (run === undefined) throw new Error("the store has a run");
    const store = openSqlite(file);
    dropFromMemory(file);
    const took = await measureTime(async () => void (await store.events(tenant as never, run, 0)));
    await store.close();
    return took;
  });
}

/** Tells the system that the file is not needed any more. It keeps pages that are not on disk, and there are none. */
function dropFromMemory(file: string): void {
  const { status } = spawnSync("dd", [`if=${file}`, "iflag=nocache", "count=0", "status=none"]);
  if (status !== 0) throw new Error("dd of the GNU core utilities is needed to measure cold reads");
}
