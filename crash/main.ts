import { randomInt } from "node:crypto";
import { CellRunner } from "./cell-runner.ts";
import { parseCrashArguments } from "./crash-arguments.ts";
import { crashFailures, crashTable, type PartResult, summarizeCrash } from "./crash-report.ts";
import type { PartName } from "./part-selector.ts";
import { newPartTotals } from "./part-totals.ts";
import { proofParts } from "./proof-parts.ts";

const args = parseCrashArguments(process.argv.slice(2), randomInt(2 ** 31));
if ("wrong" in args) {
  console.error(args.wrong);
  process.exit(2);
}
const { json, kills, seed, only } = args;
const runner = await CellRunner.create();
process.once("SIGINT", () => {
  runner.close();
  process.exit(130);
});
const results: PartResult[] = [];
try {
  for (const [name, part] of Object.entries(proofParts)) {
    if (only !== null && only.part !== name) continue;
    const totals = newPartTotals();
    const startedAt = performance.now();
    const log = (line: string) => console.error(line);
    await part({ runner, selector: only, kills, seed, totals, log });
    for (const finding of totals.findings) console.error(`FOUND ${finding}`);
    results.push({ part: name as PartName, totals, seconds: (performance.now() - startedAt) / 1000 });
  }
} finally {
  runner.close();
}
const failures = crashFailures(results, { kills, isComplete: only === null });
for (const line of failures) console.error(line);
console.log(
  json
    ? JSON.stringify({ ...summarizeCrash(results), seed, complaints: failures })
    : crashTable(results, seed, only === null),
);
process.exitCode = failures.length === 0 ? 0 : 1;
