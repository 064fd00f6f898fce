import type { Engine } from "../src/engine/api.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { almostDone, rawReader } from "./left-store.ts";
import { type Measurement, sideBySide } from "./measurement.ts";
import { medianOf } from "./samples.ts";
import { splitOf } from "./time-split.ts";
import { timed } from "./timed.ts";
import { benchTools, openEngine } from "./workload.ts";

/** How long a run of so many steps takes to go on where it was left: the median of a few tries. */
export function resume(id: string, steps: number, tries: number): Measurement {
  const left = almostDone(steps);
  const pair = {
    engine: () => medianOf(tries, () => left.withCopy((file) => resumed(file, timed))),
    limit: () => medianOf(tries, () => left.withCopy(readTime)),
  };
  return {
    id,
    about: `one run of ${steps} steps, all done but the last: from opening the store to the call of the last`,
    beside: "opening the file and reading every column of the same rows, every byte looked at once",
    unit: "ms",
    goal: { of: "ratio", atMost: 3 },
    round: (order) => sideBySide(order, pair),
    split: () => left.withCopy((file) => resumed(file, splitOf)),
  };
}

/** Measures one resumption. */
async function resumed<Figure>(file: string, measure: (work: () => Promise<void>) => Promise<Figure>): Promise<Figure> {
  const engines: Engine[] = [];
  let tell = (): void => {};
  const called = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const tools = benchTools(() => tell());
  const figure = await measure(async () => {
    engines.push(await openEngine(sqlite(file), "every", tools));
    await called;
  });
  for (const engine of engines) await engine.close();
  return figure;
}

function readTime(file: string): Promise<number> {
  return timed(() => {
    const reader = rawReader(file);
    reader.events();
    reader.close();
  });
}
