import { randomInt } from "node:crypto";
import { type Arguments, readArguments } from "./arguments.ts";
import { type Found, neverHappened, search } from "./search.ts";
import { simulate } from "./simulation.ts";

/** Stacks are for reading, and nobody reads those of a million simulated faults. */
Error.stackTraceLimit = 0;

/** Of how many broken laws the last lines are told. */
const SHOWN = 5;

const args = readArguments(process.argv.slice(2));
if ("wrong" in args) {
  console.error(args.wrong);
  process.exit(2);
}
process.exitCode = await (args.seed === null ? playMany(args) : playOne(args.seed, args));

async function playOne(seed: number, { json, run }: Arguments): Promise<number> {
  Error.stackTraceLimit = 30;
  const outcome = await simulate(seed, run);
  const { steps, violation, trace } = outcome;
  if (violation !== null) console.error([...violation.lines, `seed ${seed}: ${violation.law}`].join("\n"));
  if (json) {
    console.log(
      JSON.stringify({ steps, seeds: 1, violations: violation === null ? 0 : 1, planted: 0, found: 0, trace }),
    );
  } else {
    console.log(
      `seed ${seed}: ${steps} steps, trace ${trace}, ${violation === null ? "no violation" : "one violation"}`,
    );
  }
  return violation === null ? 0 : 1;
}

async function playMany({ json, steps, from }: Arguments): Promise<number> {
  const start = from ?? randomInt(2 ** 32);
  const begun = performance.now();
  const found = await search({ from: start, steps, seeds: Number.POSITIVE_INFINITY, first: false });
  const perSecond = Math.round((found.steps * 1000) / (performance.now() - begun));
  const never = neverHappened(found);
  report(found, never);
  if (json) {
    const violations = found.violations.length;
    console.log(
      JSON.stringify({
        steps: found.steps,
        seeds: found.seeds,
        violations,
        planted: 0,
        found: 0,
        from: start,
        per_second: perSecond,
        counts: found.counts,
      }),
    );
  } else {
    console.log(
      `${found.steps} steps over ${found.seeds} seeds from ${start}, ${found.violations.length} violations, ${perSecond} steps/s`,
    );
    console.log(found.counts);
  }
  return found.violations.length === 0 && never.length === 0 ? 0 : 1;
}

function report({ violations }: Found, never: readonly string[]): void {
  for (const { seed, violation } of violations.slice(0, SHOWN))
    console.error([...(violation?.lines ?? []), `seed ${seed}: ${violation?.law}`, ""].join("\n"));
  for (const { seed, violation } of violations.slice(SHOWN)) console.error(`seed ${seed}: ${violation?.law}`);
  if (never.length > 0) console.error(`never happened, so passing means nothing: ${never.join(", ")}`);
}
