import type { JsonObject } from "../src/core/values/json.ts";
import type { Engine } from "../src/engine/api/engine-api.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { measureTime } from "./measure-time.ts";
import { type Measurement, measurePair } from "./measurement.ts";
import {
  benchSession,
  rawReader,
  sessionMessages,
  storeWithAlmostDoneRun,
  storeWithSession,
} from "./prepared-store.ts";
import { sampleMedian } from "./samples.ts";
import { measureSplit } from "./time-split.ts";
import { benchPrincipal, benchTools, openBenchEngine } from "./workload.ts";

/** Measures the resumption of a run with `steps` steps: the median of a few tries. */
export function resumeTime(id: string, steps: number, tries: number): Measurement {
  const store = storeWithAlmostDoneRun(steps);
  const pair = {
    engine: () => sampleMedian(tries, () => store.withCopy((file) => measureResume(file, measureTime))),
    limit: () => sampleMedian(tries, () => store.withCopy(timeRead)),
  };
  return {
    id,
    about: `one run of ${steps} steps, all done but the last: from opening the store to the call of the last`,
    limitAbout: "opening the file and reading every column of the same rows, every byte visited once",
    unit: "ms",
    goal: { of: "ratio", atMost: 3 },
    round: (order) => measurePair(order, pair),
    split: () => store.withCopy((file) => measureResume(file, measureSplit)),
  };
}

/** Measures the resumption of a session: from opening the store to the next question to the model. */
export function sessionResumeTime(id: string, turns: number, tries: number): Measurement {
  const store = storeWithSession(turns);
  const messages = sessionMessages(turns);
  const pair = {
    engine: () => sampleMedian(tries, () => store.withCopy((file) => measureSession(file, messages))),
    limit: () => sampleMedian(tries, () => store.withCopy(timeRead)),
  };
  return {
    id,
    about: `one session of ${turns} turns with a model: from opening the store to the next question`,
    limitAbout: "opening the file and reading every column of the same rows, every byte visited once",
    unit: "ms",
    goal: { of: "ratio", atMost: 3 },
    round: (order) => measurePair(order, pair),
  };
}

async function measureSession(file: string, messages: readonly JsonObject[]): Promise<number> {
  const engines: Engine[] = [];
  let onAsk = (): void => {};
  const asked = new Promise<void>((resolve) => {
    onAsk = resolve;
  });
  const took = await measureTime(async () => {
    const engine = await openBenchEngine(openSqlite(file), "every");
    engines.push(engine);
    const run = await engine.openRun({ session: benchSession, principal: benchPrincipal });
    const ask = async () => onAsk();
    void run.recordModelCall({ model: "m", messages }, ask).catch(() => {});
    await asked;
  });
  for (const engine of engines) await engine.close();
  return took;
}

/** Measures one resumption. */
async function measureResume<Figure>(
  file: string,
  measure: (work: () => Promise<void>) => Promise<Figure>,
): Promise<Figure> {
  const engines: Engine[] = [];
  let onCall = (): void => {};
  const called = new Promise<void>((resolve) => {
    onCall = resolve;
  });
  const tools = benchTools(() => onCall());
  const figure = await measure(async () => {
    engines.push(await openBenchEngine(openSqlite(file), "every", tools));
    await called;
  });
  for (const engine of engines) await engine.close();
  return figure;
}

function timeRead(file: string): Promise<number> {
  return measureTime(() => {
    const reader = rawReader(file);
    reader.events();
    reader.close();
  });
}
