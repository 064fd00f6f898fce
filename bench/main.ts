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
import { closeConsoleMeasurements, consoleMeasurements, measurableConsole } from "./console/console-measurements.ts";
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

/** The measurements of each part of the page. */
type MeasuredParts = Partial<Record<PagePart, readonly Measurement[]>>;

async function measureParts(parts: MeasuredParts, { json, only, rounds, cold, write }: BenchArguments): Promise<void> {
  const selected = Object.values(parts)
    .flat()
    .filter(({ id }) => only === null || only === id);
  if (selected.length === 0) throw new Error(`${only} is not measured with these options`);
  const report = await measure(selected, { rounds: cold ? 1 : rounds, cold, details: write || !json });
  if (write) writeParts(parts, report);
  console.log(json ? benchReportJson(report) : `${benchReportText(report)}\n\n${workReportText(report)}`.trimEnd());
}

function writeParts(parts: MeasuredParts, report: BenchReport): void {
  for (const [part, measurements] of Object.entries(parts) as [PagePart, readonly Measurement[]][]) {
    const ids = new Set(measurements.map(({ id }) => id));
    const measured = report.measured.filter(({ measurement: { id } }) => ids.has(id));
    if (measured.length > 0) writeResultsPart(part, benchReportText({ ...report, measured }));
  }
}

/** Measures on a temporary server. */
async function measureOnPostgres(options: BenchArguments): Promise<void> {
  const server = await startBenchServer();
  try {
    await measureParts({ postgres: postgresMeasurements(server) }, options);
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

/** Stands in for a server where only the ids of the measurements are read. */
const noServer = {} as BenchServer;
const all = [
  ...sqliteMeasurements(),
  ...consoleMeasurements(),
  ...processMeasurements(),
  ...surfaceMeasurements(),
  ...postgresMeasurements(noServer),
];
const args = parseBenchArguments(
  process.argv.slice(2),
  all.map(({ id }) => id),
);
if ("wrong" in args) {
  console.error(`${args.wrong}\n${benchUsage}`);
  process.exitCode = 2;
} else if (args.store === "postgres") {
  await measureOnPostgres(args);
} else if (args.processes) {
  await measureParts({ processes: processMeasurements() }, args);
} else if (args.surfaces) {
  await measureParts({ surfaces: surfaceMeasurements() }, args);
} else if (args.console) {
  await measureParts({ console: measurableConsole() }, args);
} else if (args.peers === null) {
  await measureParts({ figures: sqliteMeasurements(), console: measurableConsole() }, args);
} else {
  await measurePeers(args.peers.from, args);
}
await closeConsoleMeasurements();
