import { randomInt } from "node:crypto";
import { readArguments } from "./arguments.ts";
import { complaints, figuresOf } from "./report.ts";
import { storm } from "./storm.ts";
import { long } from "./weather.ts";

const args = readArguments(process.argv.slice(2), randomInt(2 ** 31));
if ("wrong" in args) {
  console.error(args.wrong);
  process.exit(2);
}
const { json, ...asked } = args;
const wreckage = await storm({ ...long, ...asked, say: (line) => console.error(line) });
const wrong = complaints(wreckage);
for (const line of wrong) console.error(line);
const figures = { ...figuresOf(wreckage), seed: args.seed };
if (json) console.log(JSON.stringify(figures));
else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(20)} ${value}`);
process.exitCode = wrong.length === 0 ? 0 : 1;
