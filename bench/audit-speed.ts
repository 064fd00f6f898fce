import type { PrincipalInput } from "../src/engine/api/engine-api.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { measureTime } from "./measure-time.ts";
import { type Measurement, measureRates } from "./measurement.ts";
import { type PreparedStore, rawReader } from "./prepared-store.ts";
import { sampleMedian } from "./samples.ts";
import { measureSplit } from "./time-split.ts";
import { benchPrincipal, openBenchEngine } from "./workload.ts";

const tries = 3;

/** Measures the events per second of an audit. */
export function auditSpeed(id: string, store: PreparedStore): Measurement {
  const pair = {
    engine: () => sampleMedian(tries, () => store.withCopy((file) => measureAudit(file, measureTime))),
    limit: () => sampleMedian(tries, () => store.withCopy((file) => measureRead(file, measureTime))),
  };
  return {
    id,
    about:
      "an audit: every body against its hash, every event against its predecessor, every row against the fold of its events",
    limitAbout: "reading every column of the same events, every byte visited once",
    unit: "events/s",
    goal: { of: "value", atLeast: 50_000 },
    round: async (order) => measureRates(order, await store.withCopy(countEvents), pair),
    split: () => store.withCopy((file) => measureAudit(file, measureSplit)),
  };
}

type Measure<Figure> = (work: () => Promise<void>) => Promise<Figure>;

/** Only a person or a service may audit a whole tenant. */
const auditor: PrincipalInput = { ...benchPrincipal, id: "auditor", kind: "person" };

/** Audits every journal of the tenant; none may be broken. */
async function measureAudit<Figure>(file: string, measure: Measure<Figure>): Promise<Figure> {
  const engine = await openBenchEngine(openSqlite(file), "every");
  const figure = await measure(async () => {
    const { broken } = await engine.audit({ principal: auditor });
    if (broken.length > 0) throw new Error(`${broken.length} runs are broken`);
  });
  await engine.close();
  return figure;
}

async function measureRead<Figure>(file: string, measure: Measure<Figure>): Promise<Figure> {
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
