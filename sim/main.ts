import { randomInt } from "node:crypto";
import { type Arguments, readArguments } from "./arguments.ts";
import { type Hunted, hunt } from "./planted/hunt.ts";
import { planted } from "./planted/planted.ts";
import { type Found, neverHappened, search } from "./search.ts";
import { simulate } from "./simulation.ts";

/** Stacks are for reading, and nobody reads those of a million simulated faults. */
Error.stackTraceLimit = 0;

/** So far is a planted wrong looked for; less far from where it was found before. */
const HUNT_STEPS = { search: 3_000_000, known: 600_000 };

/** Of how many broken laws the last lines are told. */
const SHOWN = 5;

const args = readArguments(process.argv.slice(2));
if ("wrong" in args) {
  console.error(args.wrong);
  process.exit(2);
}
const seed = args.seed ?? randomInt(2 ** 31);
process.exitCode = await (args.steps === null ? playOne(seed, args) : playMany(seed, args.steps, args));

async function playOne(seed: number, { json, about }: Arguments): Promise<number> {
  Error.stackTraceLimit = 30;
  const { steps, violation, trace } = await simulate(seed, about);
  const violations = violation === null ? 0 : 1;
  if (violation !== null) console.error([...violation.lines, `seed ${seed}: ${violation.law}`].join("\n"));
  if (json) say({ steps, seeds: 1, violations, planted: 0, found: 0, trace });
  else console.log(`seed ${seed}: ${steps} steps, trace ${trace}, ${violations} violations`);
  return violations;
}

async function playMany(from: number, steps: number, { json, first, planted: asked }: Arguments): Promise<number> {
  const begun = performance.now();
  const found = await search({ from, steps, first });
  const perSecond = Math.round((found.steps * 1000) / (performance.now() - begun));
  const never = neverHappened(found);
  report(found, never);
  const hunted = await huntAll(from, asked, json ? () => {} : tellOne);
  const escaped = hunted.filter((each) => each.found === null);
  for (const { name } of escaped) console.error(`escaped: ${name}`);
  const sum = {
    steps: found.steps,
    seeds: found.seeds,
    violations: found.violations.length,
    planted: hunted.length,
    found: hunted.length - escaped.length,
  };
  if (json) say({ ...sum, from, per_second: perSecond, first: firstOf(found), counts: found.counts, hunted });
  else tell(sum, from, perSecond, found);
  return sum.violations + never.length + escaped.length === 0 ? 0 : 1;
}

function huntAll(from: number, asked: string, tell: (one: Hunted) => void): Promise<readonly Hunted[]> {
  const known = asked === "known";
  const bugs = planted.filter(({ name }) => known || asked === "all" || name.includes(asked));
  return hunt(bugs, { from, steps: known ? HUNT_STEPS.known : HUNT_STEPS.search, jobs: 2, known }, tell);
}

function say(answer: object): void {
  console.log(JSON.stringify(answer));
}

function firstOf({ violations: [first] }: Found): { readonly seed: number; readonly law: string } | null {
  return first?.violation == null ? null : { seed: first.seed, law: first.violation.law };
}

function report({ violations }: Found, never: readonly string[]): void {
  for (const { seed, violation } of violations.slice(0, SHOWN))
    console.error([...(violation?.lines ?? []), `seed ${seed}: ${violation?.law}`, ""].join("\n"));
  for (const { seed, violation } of violations.slice(SHOWN)) console.error(`seed ${seed}: ${violation?.law}`);
  if (never.length > 0) console.error(`never happened, so passing means nothing: ${never.join(", ")}`);
}

interface Sum {
  readonly steps: number;
  readonly seeds: number;
  readonly violations: number;
  readonly planted: number;
  readonly found: number;
}

function tell(sum: Sum, from: number, perSecond: number, { counts }: Found): void {
  console.log(
    `${sum.steps} steps over ${sum.seeds} seeds from ${from}: ${sum.violations} violations, ${perSecond} steps/s`,
  );
  console.log(
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(", "),
  );
  if (sum.planted > 0) console.log(`${sum.found} of ${sum.planted} planted wrongs found`);
}

function tellOne({ name, found, seeds, steps }: Hunted): void {
  const how = found === null ? "ESCAPED" : `found by seed ${found.seed}`;
  console.log(`${how} after ${seeds} seeds, ${steps} steps: ${name}${found === null ? "" : ` (${found.law})`}`);
}
