import { randomInt } from "node:crypto";
import { readArguments } from "./arguments.ts";
import { parts } from "./parts.ts";
import { complaints, type Played, sumOf, tableOf } from "./report.ts";
import { Stage } from "./stage.ts";
import { emptyTally } from "./tally.ts";
import type { PartName } from "./wanted.ts";

const args = readArguments(process.argv.slice(2), randomInt(2 ** 31));
if ("wrong" in args) {
  console.error(args.wrong);
  process.exit(2);
}
const { json, kills, seed, only } = args;
const stage = await Stage.raise();
process.once("SIGINT", () => {
  stage.strike();
  process.exit(130);
});
const played: Played[] = [];
try {
  for (const [name, part] of Object.entries(parts)) {
    if (only !== null && only.part !== name) continue;
    const tally = emptyTally();
    const begun = performance.now();
    const say = (line: string) => console.error(line);
    await part({ stage, wanted: only, kills, seed, tally, say });
    for (const finding of tally.findings) console.error(`FOUND ${finding}`);
    played.push({ part: name as PartName, tally, seconds: (performance.now() - begun) / 1000 });
  }
} finally {
  stage.strike();
}
const wrong = complaints(played, { kills, whole: only === null });
for (const line of wrong) console.error(line);
console.log(
  json ? JSON.stringify({ ...sumOf(played), seed, complaints: wrong }) : tableOf(played, seed, only === null),
);
process.exitCode = wrong.length === 0 ? 0 : 1;
