import { readArguments } from "./arguments.ts";
import { flatness, weight } from "./long-run.ts";
import { machine } from "./machine.ts";
import type { Measurement, Round } from "./measurement.ts";
import { asJson, asText, type Measured } from "./report.ts";
import { throughput } from "./throughput.ts";

const oneByOne = { runs: 200, steps: 10, atOnce: 1 };
const together = { runs: 1000, steps: 10, atOnce: 50 };

const measurements: readonly Measurement[] = [
  throughput("W1.reads.sqlite", { effect: "reads", ...oneByOne }, { atLeast: 0.6 }),
  throughput("W1.acts.sqlite", { effect: "acts", ...oneByOne }, { atLeast: 0.6 }),
  throughput("W2.reads.sqlite", { effect: "reads", ...together }, { atLeast: 0.5 }),
  throughput("W2.acts.sqlite", { effect: "acts", ...together }, { atLeast: 0.5 }),
  flatness("W4.flat.sqlite"),
  weight("W4.bytes.sqlite"),
];

/** Rounds go around all measurements, so that a slow minute of the machine falls on every one of them. */
async function measure(wanted: readonly Measurement[], rounds: number): Promise<readonly Round[][]> {
  const measured: Round[][] = wanted.map(() => []);
  for (const measurement of wanted) await measurement.round("limit first"); // The compiler warms up; nobody counts it.
  for (let count = 0; count < rounds; count += 1) {
    for (const [at, measurement] of wanted.entries()) {
      measured[at]?.push(await measurement.round(count % 2 === 0 ? "limit first" : "engine first"));
    }
  }
  return measured;
}

async function main(): Promise<void> {
  const ids = measurements.map(({ id }) => id);
  const given = readArguments(process.argv.slice(2), ids);
  if ("wrong" in given) {
    console.error(`${given.wrong}\nnpm run --silent bench -- [--json] [--only ${ids[0]}] [--rounds 7]`);
    process.exitCode = 2;
    return;
  }
  const wanted = measurements.filter(({ id }) => given.only === null || given.only === id);
  const rounds = await measure(wanted, given.rounds);
  const measured: Measured[] = [];
  for (const [at, measurement] of wanted.entries()) {
    const detail = given.json || measurement.detail === null ? null : await measurement.detail();
    measured.push({ measurement, rounds: rounds[at] ?? [], detail });
  }
  const report = { machine: await machine(), date: new Date().toISOString().slice(0, 10), measured };
  console.log(given.json ? asJson(report) : asText(report));
}

await main();
