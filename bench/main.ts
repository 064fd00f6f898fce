import { type BenchArguments, benchUsage, parseBenchArguments } from "./bench-arguments.ts";
import {
  type BenchReport,
  benchReportJson,
  benchReportText,
  type Measured,
  type MeasuredDetails,
  workReportText,
} from "./bench-report.ts";
import { coldRound } from "./cold-round.ts";
import { describeMachine } from "./machine.ts";
import type { Measurement, MeasurementRound } from "./measurement.ts";
import { openPeerMeasurements } from "./peers/peer-measurements.ts";
import { peersReportJson, peersReportText } from "./peers/peers-report.ts";
import { type BenchServer, startBenchServer } from "./postgres/bench-server.ts";
import { postgresMeasurements } from "./postgres/postgres-measurements.ts";
import { processMeasurements } from "./processes/process-measurements.ts";
import { type PagePart, writeResultsPart } from "./results-page.ts";
import { sqliteMeasurements } from "./sqlite-measurements.ts";
import { surfaceMeasurements } from "./surfaces/surface-measurements.ts";
import { warmUp } from "./warm-up.ts";

/** Each round measures every measurement once, so that a slow minute of the machine affects all of them. */
async function measure(
  selected: readonly Measurement[],
  { rounds, cold, details }: { readonly rounds: number; readonly cold: boolean; readonly details: boolean },
): Promise<BenchReport> {
  const found: MeasurementRound[][] = selected.map(() => []);
  if (!cold) for (const measurement of selected) await warmUp(measurement);
  for (let count = 0; count < rounds; count += 1) {
    for (const [at, { maxRounds = rounds, round }] of selected.entries()) {
      if (count < maxRounds) found[at]?.push(await round(count % 2 === 0 ? "limit first" : "engine first"));
    }
  }
  const measured: Measured[] = [];
  for (const [at, measurement] of selected.entries()) {
    const detailValues = details ? await measureDetails(measurement) : {};
    measured.push({ measurement, rounds: found[at] ?? [], ...detailValues });
  }
  return { machine: await describeMachine(), date: new Date().toISOString().slice(0, 10), measured };
}

/** Measures the details of a result. */
async function measureDetails({ id, traffic, split, work, hasCold }: Measurement): Promise<MeasuredDetails> {
  return {
    ...(hasCold && { cold: await coldRound(id) }),
    ...(work && { work: await work() }),
    ...(traffic && { traffic: await traffic() }),
    ...(split && { split: await split() }),
  };
}

async function measureStore(
  part: PagePart,
  all: readonly Measurement[],
  { json, only, rounds, cold, write }: BenchArguments,
): Promise<void> {
  const selected = all.filter(({ id }) => only === null || only === id);
  if (selected.length === 0) throw new Error(`${only} is not measured with these options`);
  const report = await measure(selected, { rounds: cold ? 1 : rounds, cold, details: write || !json });
  if (write) writeResultsPart(part, benchReportText(report));
  console.log(json ? benchReportJson(report) : `${benchReportText(report)}\n\n${workReportText(report)}`.trimEnd());
}

/** Measures on a temporary server. */
async function measureOnPostgres(options: BenchArguments): Promise<void> {
  const server = await startBenchServer();
  try {
    await measureStore("postgres", postgresMeasurements(server), options);
  } finally {
    await server.close();
  }
}

async function measurePeers(folder: string, { json, rounds, write }: BenchArguments): Promise<void> {
  const { measurements, absent, close } = await openPeerMeasurements(folder);
  const report = await measure(measurements, { rounds, cold: false, details: false });
  await close();
  if (write) writeResultsPart("peers", peersReportText(report, absent));
  console.log(json ? peersReportJson(report, absent) : peersReportText(report, absent));
}

const measurements = sqliteMeasurements();
/** Stands in for a server where only the ids of the measurements are read. */
const noServer = {} as BenchServer;
const args = parseBenchArguments(
  process.argv.slice(2),
  [...measurements, ...processMeasurements(), ...surfaceMeasurements(), ...postgresMeasurements(noServer)].map(
    ({ id }) => id,
  ),
);
if ("wrong" in args) {
  console.error(`${args.wrong}\n${benchUsage}`);
  process.exitCode = 2;
} else if (args.store === "postgres") {
  await measureOnPostgres(args);
} else if (args.processes) {
  await measureStore("processes", processMeasurements(), args);
} else if (args.surfaces) {
  await measureStore("surfaces", surfaceMeasurements(), args);
} else if (args.peers === null) {
  await measureStore("figures", measurements, args);
} else {
  await measurePeers(args.peers.from, args);
}
