import { randomInt } from "node:crypto";
import { readArguments } from "./arguments.ts";
import { complaints, figuresOf, once } from "./report.ts";
import { storm, type Weather } from "./storm.ts";
import { long } from "./weather.ts";

const args = readArguments(process.argv.slice(2), randomInt(2 ** 31));
if ("wrong" in args) {
  console.error(args.wrong);
  process.exit(2);
}
const { json, seconds, workers, seed, keep } = args;
const asked = seconds === null ? long : { ...long, seconds, mostSeconds: seconds + 60, least: once };
const say = (line: string): void => console.error(line);
const weather: Weather = { ...asked, workers: workers ?? long.workers, seed, keep, say };
const wreckage = await storm(weather);
const wrong = complaints(wreckage, weather.least);
for (const line of wrong) console.error(line);
const figures = { ...figuresOf(wreckage), seed };
if (json) console.log(JSON.stringify(figures));
else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(20)} ${value}`);
process.exitCode = wrong.length === 0 ? 0 : 1;
