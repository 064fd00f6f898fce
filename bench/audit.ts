import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { type LeftStore, rawReader } from "./left-store.ts";
import { type Measurement, rateSideBySide } from "./measurement.ts";
import { medianOf } from "./samples.ts";
import { splitOf } from "./time-split.ts";
import { timed } from "./timed.ts";
import { openEngine, principal } from "./workload.ts";

const tries = 3;

/** How many events a second are checked. */
export function auditSpeed(id: string, left: LeftStore): Measurement {
  const pair = {
    engine: () => medianOf(tries, () => left.withCopy((file) => audited(file, timed))),
    limit: () => medianOf(tries, () => left.withCopy((file) => read(file, timed))),
  };
  return {
    id,
    about:
      "every body against its hash, every event against its predecessor, every row against what its events add up to",
    beside: "reading every column of the same events, every byte looked at once",
    unit: "events/s",
    goal: { of: "value", atLeast: 50_000 },
    round: async (order) => rateSideBySide(order, await left.withCopy(countEvents), pair),
    split: () => left.withCopy((file) => audited(file, splitOf)),
  };
}

type Measure<Figure> = (work: () => Promise<void>) => Promise<Figure>;

/** A look at every journal of the tenant, of which nothing may be broken. */
async function audited<Figure>(file: string, measure: Measure<Figure>): Promise<Figure> {
  const engine = await openEngine(sqlite(file), "every");
  const figure = await measure(async () => {
    const { broken } = await engine.audit({ principal });
    if (broken.length > 0) throw new Error(`${broken.length} runs are broken`);
  });
  await engine.close();
  return figure;
}

async function read<Figure>(file: string, measure: Measure<Figure>): Promise<Figure> {
  const reader = rawReader(file);
  const figure = await measure(async () => void reader.events());
  reader.close();
  return figure;
}

async function countEvents(file: string): Promise<number> {
  const reader = rawReader(file);
  const count = reader.events();
  reader.close();
  return count;
}
