import { randomInt } from "node:crypto";
import { parseChaosArguments } from "./chaos-arguments.ts";
import { longChaos } from "./chaos-presets.ts";
import { chaosFailures, chaosFigures, minimumOnce } from "./chaos-report.ts";
import { type ChaosOptions, runChaos } from "./run-chaos.ts";

const args = parseChaosArguments(process.argv.slice(2), randomInt(2 ** 31));
if ("wrong" in args) {
  console.error(args.wrong);
  process.exit(2);
}
const { json, seconds, workers, seed, keep } = args;
const preset = seconds === null ? longChaos : { ...longChaos, seconds, mostSeconds: seconds + 60, least: minimumOnce };
const log = (line: string): void => console.error(line);
const options: ChaosOptions = { ...preset, workers: workers ?? longChaos.workers, seed, keep, log };
const result = await runChaos(options);
const failures = chaosFailures(result, options.least);
for (const line of failures) console.error(line);
const figures = { ...chaosFigures(result), seed };
if (json) console.log(JSON.stringify(figures));
else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(20)} ${value}`);
process.exitCode = failures.length === 0 ? 0 : 1;
