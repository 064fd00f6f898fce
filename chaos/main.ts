import { randomInt } from "node:crypto";
import { type ChaosArguments, parseChaosArguments } from "./chaos-arguments.ts";
import { longChaos, longSqliteChaos } from "./chaos-presets.ts";
import { chaosFailures, chaosFigures, minimumOnce } from "./chaos-report.ts";
import { findMissedBugs } from "./find-planted-bugs.ts";
import { type ChaosOptions, runChaos } from "./run-chaos.ts";

const log = (line: string): void => console.error(line);

/** Runs the test and prints its figures. Returns whether it passed. */
async function main({ json, store, seconds, workers, seed, keep }: ChaosArguments): Promise<boolean> {
  const long = store === "sqlite" ? longSqliteChaos : longChaos;
  const preset = seconds === null ? long : { ...long, seconds, mostSeconds: seconds + 60, least: minimumOnce[store] };
  const options: ChaosOptions = { ...preset, workers: workers ?? long.workers, seed, keep, log };
  const result = await runChaos(options);
  const failures = chaosFailures(result, options.least);
  failures.forEach(log);
  const figures = { ...chaosFigures(result), seed };
  if (json) console.log(JSON.stringify(figures));
  else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(20)} ${value}`);
  return failures.length === 0;
}

const args = parseChaosArguments(process.argv.slice(2), randomInt(2 ** 31));
if ("wrong" in args) {
  console.error(args.wrong);
  process.exitCode = 2;
} else {
  const passed = args.bugs ? (await findMissedBugs(args.seed, log)).length === 0 : await main(args);
  process.exitCode = passed ? 0 : 1;
}
