import { type Arguments, readArguments, usage } from "./arguments.ts";
import { machine } from "./machine.ts";
import type { Measurement, Round } from "./measurement.ts";
import { allMeasurements } from "./measurements.ts";
import { writePage } from "./page.ts";
import { lineUp } from "./peers/measurements.ts";
import { peersAsJson, peersAsText } from "./peers/report.ts";
import { postgresMeasurements } from "./postgres/measurements.ts";
import { newPlace, type Place } from "./postgres/place.ts";
import { asJson, asText, type Measured, type Report } from "./report.ts";

/** Rounds go around all measurements, so that a slow minute of the machine falls on every one of them. */
async function measure(wanted: readonly Measurement[], rounds: number, details: boolean): Promise<Report> {
  const found: Round[][] = wanted.map(() => []);
  for (const { enough, round } of wanted) if (enough !== 1) await round("limit first"); // The compiler warms up.
  for (let count = 0; count < rounds; count += 1) {
    for (const [at, { enough = rounds, round }] of wanted.entries()) {
      if (count < enough) found[at]?.push(await round(count % 2 === 0 ? "limit first" : "engine first"));
    }
  }
  const measured: Measured[] = [];
  for (const [at, measurement] of wanted.entries()) {
    const behind = details ? await behindOf(measurement) : {};
    measured.push({ measurement, rounds: found[at] ?? [], ...behind });
  }
  return { machine: await machine(), date: new Date().toISOString().slice(0, 10), measured };
}

/** What lies behind a figure. */
async function behindOf({ traffic, split }: Measurement): Promise<Pick<Measured, "traffic" | "split">> {
  return { ...(traffic && { traffic: await traffic() }), ...(split && { split: await split() }) };
}

async function measureOurs(
  all: readonly Measurement[],
  { json, only, store, rounds, write }: Arguments,
): Promise<void> {
  const wanted = all.filter(({ id }) => only === null || only === id);
  if (wanted.length === 0) throw new Error(`${only} is not measured on this store`);
  const report = await measure(wanted, rounds, write || !json);
  if (write) writePage(store === "postgres" ? "postgres" : "figures", asText(report));
  console.log(json ? asJson(report) : asText(report));
}

/** On a server of our own, which is gone when all is measured. */
async function measureOnPostgres(given: Arguments): Promise<void> {
  const place = await newPlace();
  try {
    await measureOurs(postgresMeasurements(place), given);
  } finally {
    await place.close();
  }
}

async function measurePeers(folder: string, { json, rounds, write }: Arguments): Promise<void> {
  const { measurements, absent, close } = await lineUp(folder);
  const report = await measure(measurements, rounds, false);
  await close();
  if (write) writePage("peers", peersAsText(report, absent));
  console.log(json ? peersAsJson(report, absent) : peersAsText(report, absent));
}

const measurements = allMeasurements();
/** For those who only want to know what there is. */
const nowhere = {} as Place;
const given = readArguments(
  process.argv.slice(2),
  [...measurements, ...postgresMeasurements(nowhere)].map(({ id }) => id),
);
if ("wrong" in given) {
  console.error(`${given.wrong}\n${usage}`);
  process.exitCode = 2;
} else if (given.store === "postgres") {
  await measureOnPostgres(given);
} else if (given.peers === null) {
  await measureOurs(measurements, given);
} else {
  await measurePeers(given.peers.from, given);
}
