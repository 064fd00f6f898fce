import { randomInt } from "node:crypto";
import { searchPlanCases } from "./plans/search-plan-cases.ts";
import { simulatePlans } from "./plans/simulate-plans.ts";
import { plantedBugs } from "./planted/planted-bugs.ts";
import { type BugSearch, searchBugs } from "./planted/search-bugs.ts";
import { searchFileSeeds } from "./processes/search-file-seeds.ts";
import { simulateFile } from "./processes/simulate-file.ts";
import { searchSeeds } from "./search-seeds.ts";
import { findUnusedCounters, type SeedSearchResult } from "./search-with.ts";
import { searchSessionSeeds } from "./sessions/search-session-seeds.ts";
import { simulateSessions } from "./sessions/simulate-sessions.ts";
import { parseSimArguments, type SimArguments } from "./sim-arguments.ts";
import { simulate } from "./simulate.ts";

/** Stack traces of simulated faults are never printed, and making them is slow. */
Error.stackTraceLimit = 0;

/** The steps after which a planted bug counts as not found; fewer with a known seed. */
const MAX_SEARCH_STEPS = { search: 3_000_000, known: 600_000 };

/** The number of violations that are printed with their last trace lines. */
const MAX_SHOWN_VIOLATIONS = 5;

const args = parseSimArguments(process.argv.slice(2));
if ("wrong" in args) {
  console.error(args.wrong);
  process.exit(2);
}
const seed = args.seed ?? randomInt(2 ** 31);
process.exitCode = await (args.steps === null ? simulateOne(seed, args) : simulateMany(seed, args.steps, args));

async function simulateOne(seed: number, { json, about, file, sessions, plans }: SimArguments): Promise<number> {
  Error.stackTraceLimit = 30;
  const simulateSeed = plans ? simulatePlans : sessions ? simulateSessions : file ? simulateFile : simulate;
  const { steps, violation, trace } = await simulateSeed(seed, about);
  const violations = violation === null ? 0 : 1;
  if (violation !== null) console.error([...violation.lines, `seed ${seed}: ${violation.law}`].join("\n"));
  if (json) printJson({ steps, seeds: 1, violations, planted: 0, found: 0, trace });
  else console.log(`seed ${seed}: ${steps} steps, trace ${trace}, ${violations} violations`);
  return violations;
}

async function simulateMany(
  from: number,
  steps: number,
  { json, first, file, sessions, plans, planted: selection, every }: SimArguments,
): Promise<number> {
  const startedAt = performance.now();
  const search = plans ? searchPlanCases : sessions ? searchSessionSeeds : file ? searchFileSeeds : searchSeeds;
  const found = await search({ from, steps, first });
  const perSecond = Math.round((found.steps * 1000) / (performance.now() - startedAt));
  const unusedCounters = findUnusedCounters(found);
  printViolations(found, unusedCounters);
  const searches = await searchPlantedBugs(from, selection, every, json ? () => {} : printBugSearch);
  const missed = searches.filter((each) => each.found === null);
  for (const { name } of missed) console.error(`not found: ${name}`);
  const sum = {
    steps: found.steps,
    seeds: found.seeds,
    violations: found.violations.length,
    planted: searches.length,
    found: searches.length - missed.length,
  };
  if (json)
    printJson({
      ...sum,
      from,
      per_second: perSecond,
      first: firstViolation(found),
      counts: found.counts,
      hunted: searches,
    });
  else printSummary(sum, from, perSecond, found);
  return sum.violations + unusedCounters.length + missed.length === 0 ? 0 : 1;
}

function searchPlantedBugs(
  from: number,
  selection: string,
  every: number,
  print: (one: BugSearch) => void,
): Promise<readonly BugSearch[]> {
  const known = selection === "known";
  const bugs = plantedBugs.filter(({ name }) => known || selection === "all" || name.includes(selection));
  return searchBugs(
    bugs.filter((_, index) => index % every === 0),
    { from, steps: known ? MAX_SEARCH_STEPS.known : MAX_SEARCH_STEPS.search, jobs: 2, known },
    print,
  );
}

function printJson(answer: object): void {
  console.log(JSON.stringify(answer));
}

function firstViolation({
  violations: [first],
}: SeedSearchResult): { readonly seed: number; readonly law: string } | null {
  return first?.violation == null ? null : { seed: first.seed, law: first.violation.law };
}

function printViolations({ violations }: SeedSearchResult, unusedCounters: readonly string[]): void {
  for (const { seed, violation } of violations.slice(0, MAX_SHOWN_VIOLATIONS))
    console.error([...(violation?.lines ?? []), `seed ${seed}: ${violation?.law}`, ""].join("\n"));
  for (const { seed, violation } of violations.slice(MAX_SHOWN_VIOLATIONS))
    console.error(`seed ${seed}: ${violation?.law}`);
  if (unusedCounters.length > 0)
    console.error(`these events never occurred, so the search proves nothing about them: ${unusedCounters.join(", ")}`);
}

interface Summary {
  readonly steps: number;
  readonly seeds: number;
  readonly violations: number;
  readonly planted: number;
  readonly found: number;
}

function printSummary(sum: Summary, from: number, perSecond: number, { counts }: SeedSearchResult): void {
  console.log(
    `${sum.steps} steps over ${sum.seeds} seeds from ${from}: ${sum.violations} violations, ${perSecond} steps/s`,
  );
  console.log(
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(", "),
  );
  if (sum.planted > 0) console.log(`${sum.found} of ${sum.planted} planted bugs found`);
}

function printBugSearch({ name, found, seeds, steps }: BugSearch): void {
  const how = found === null ? "NOT FOUND" : `found by seed ${found.seed}`;
  console.log(`${how} after ${seeds} seeds, ${steps} steps: ${name}${found === null ? "" : ` (${found.law})`}`);
}
