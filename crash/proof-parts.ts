import { isFailpoint } from "./all-failpoints.ts";
import { cellName } from "./cell.ts";
import type { CellRunner } from "./cell-runner.ts";
import { type CliScenarioName, cliScenarios } from "./cli-scenarios.ts";
import { failOnce } from "./fail-once.ts";
import { killUntilParked, parkingKillPoints } from "./kill-until-parked.ts";
import type { KillPoint } from "./killer.ts";
import { mapConcurrently, runConcurrently } from "./map-concurrently.ts";
import type { PartName, PartSelector } from "./part-selector.ts";
import { addFindings, addOutcome, type PartTotals } from "./part-totals.ts";
import { replayPrefixes } from "./replay-prefixes.ts";
import { runCliKillMatrix } from "./run-cli-kill-matrix.ts";
import { type KillSelection, runKillMatrix } from "./run-kill-matrix.ts";
import { allPairPoints, type PairKills, pairScenarios, runPair, runPairMatrix } from "./run-pair-matrix.ts";
import { randomKillName, runRandomKills } from "./run-random-kills.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";

/** The selection, limits and totals that a part receives. */
interface PartContext {
  readonly runner: CellRunner;
  readonly selector: PartSelector | null;
  readonly kills: number;
  readonly seed: number;
  readonly totals: PartTotals;
  log(line: string): void;
}

type ProofPart = (context: PartContext) => Promise<void>;

const scenarioNames = Object.keys(scenarios) as ScenarioName[];

/** All parts, by the name on the command line. */
export const proofParts: Readonly<Record<PartName, ProofPart>> = {
  kill: (context) => runCells(context, false, selectAll),
  power: (context) => runCells(context, true, selectBetweenWrites),
  pair: runPairs,
  replay: runReplays,
  chance: runRandomKillsPart,
  process: runCliScenarios,
  fault: runFaults,
};

/** Scenarios that are killed at every write; the others are by random kills and replays. */
const scenariosKilledAtEachWrite: readonly ScenarioName[] = ["opaque", "gated", "undone", "large"];

/** Points after which a second process is killed too, because the first left something to recover. */
const pointsWithLeftovers = /^(mark|tool|gate|approve|notice|rollback)\.after$/;

/** Points at which a worker leaves a lock file or a row, and at which the next one removes them. */
const workerPoints = /^(register|unregister|evict)\.(before|after)$/;

/** How often a worker looks for runs depends on its speed, so only the first time is repeatable. */
const isRepeatable = ({ point, nth }: KillPoint): boolean => !point.startsWith("due.") || nth === 1;

function selectAll(scenario: ScenarioName): KillSelection {
  return {
    first: (kill) => (kill.point === "sql" ? scenariosKilledAtEachWrite.includes(scenario) : isRepeatable(kill)),
    next: (kill, after) =>
      kill.nth === 1 &&
      after.nth === 1 &&
      ((pointsWithLeftovers.test(after.point) && isFailpoint(kill.point)) ||
        (scenario === "opaque" && workerPoints.test(after.point) && workerPoints.test(kill.point))),
  };
}

function selectBetweenWrites(): KillSelection {
  return {
    first: (kill) => isFailpoint(kill.point) || /^(told|tool\.|verify\.|append\.landed|mark\.landed)/.test(kill.point),
    next: (kill, after) =>
      after.point === "tool.after" && after.nth === 1 && /^(recover|settle|evict)\./.test(kill.point),
    power: true,
  };
}

async function runCells(
  context: PartContext,
  power: boolean,
  selectionFor: (scenario: ScenarioName) => KillSelection,
): Promise<void> {
  const { runner, selector, totals, log } = context;
  for (const scenario of selectedNames(selector, scenarioNames)) {
    if (selector !== null && selector.places.length > 0) {
      const cell = { scenarioNames: [scenario], kills: selector.places, power };
      const outcome = await runner.run(cell);
      log(`${cellName(cell)}: ${JSON.stringify(outcome.report?.recovered.runs[scenario]?.result ?? null)}`);
      addOutcome(totals, outcome);
    } else {
      await runKillMatrix(runner, scenario, selectionFor(scenario), totals);
      if (scenario === "poisonous" && !power) await killUntilParked(runner, parkingKillPoints, totals);
      log(`${power ? "power" : "kill"}:${scenario}: ${totals.cells} cells so far`);
    }
  }
}

async function runPairs({ runner, selector, totals, log }: PartContext): Promise<void> {
  for (const scenario of selectedNames(selector, pairScenarios)) {
    const places = selector?.places ?? [];
    if (places.length === 0) await runPairMatrix(runner, scenario, allPairPoints, totals);
    else await runPair(runner, scenario, pairKills(places), totals);
    log(`pair:${scenario}: ${totals.cells} cells so far`);
  }
}

/** Reads the kill points of a pair; those of the second process begin with `second/`. */
function pairKills(places: readonly KillPoint[]): PairKills {
  const isSecond = ({ point }: KillPoint): boolean => point.startsWith("second/");
  const second = places.find(isSecond);
  return {
    first: places.find((place) => !isSecond(place)) ?? null,
    second: second === undefined ? null : { ...second, point: second.point.slice("second/".length) },
  };
}

async function runReplays({ runner, selector, totals, log }: PartContext): Promise<void> {
  const afterTool: KillPoint = { point: "tool.after", nth: 1 };
  const recordings = selectedNames(selector, replayableNames).flatMap((scenario) => {
    const acts = Object.keys(scenarios[scenario].acts).length > 0 && !scenariosWithoutEffect.includes(scenario);
    if (selector !== null && selector.places.length > 0) return [{ scenario, after: selector.places[0] as KillPoint }];
    return [{ scenario, after: null }, ...(acts ? [{ scenario, after: afterTool }] : [])];
  });
  await mapConcurrently(recordings, async ({ scenario, after }) => {
    const name = `replay:${scenario}${after === null ? "" : `@${after.point}#${after.nth}`}`;
    const { writes, syncs, prefixes, in_doubt, findings } = await replayPrefixes(runner, scenario, after);
    totals.prefixes += prefixes;
    totals.in_doubt += in_doubt;
    for (const each of findings) addFindings(totals, `${name} prefix ${each.name}`, each.findings);
    log(`${name}: ${writes} writes, ${syncs} syncs, ${prefixes} prefixes`);
  });
}

/** Scenarios without a clock change and without files beside the store, which a recording does not contain. */
const replayableNames = scenarioNames.filter(
  (name) => !["scheduled", "filing", "snapshot", "uncaptured", "watched", "rollback"].includes(name),
);

/** Scenarios in which the act never runs. */
const scenariosWithoutEffect: readonly ScenarioName[] = ["refused", "expired", "cancelled"];

async function runRandomKillsPart({ runner, selector, kills, seed, totals, log }: PartContext): Promise<void> {
  const runStore = async (number: number): Promise<void> => {
    const outcome = await runRandomKills(runner, { seed, number });
    addOutcome(totals, outcome, randomKillName({ seed, number }, outcome));
    log(`chance:${number}: ${outcome.kills} kills, ${totals.kills} so far`);
  };
  if (selector?.name != null) return runStore(Number(selector.name));
  let next = 0;
  await runConcurrently(async () => {
    while (totals.kills < kills) await runStore(next++);
  });
}

async function runCliScenarios({ runner, selector, totals, log }: PartContext): Promise<void> {
  for (const scenario of selectedNames(selector, Object.keys(cliScenarios) as CliScenarioName[])) {
    const [place] = selector?.places ?? [];
    const isChosen = (at: number, nth: number) => place === undefined || (place.point === `${at}` && place.nth === nth);
    await runCliKillMatrix(runner, scenario, isChosen, totals);
    log(`process:${scenario}: ${totals.cells} cells so far`);
  }
}

/** Makes the store fail once, or lose an answer, without a kill. */
async function runFaults({ runner, selector, totals, log }: PartContext): Promise<void> {
  for (const scenario of selectedNames(selector, scenarioNames)) {
    await failOnce(runner, scenario, (place) => isSelected(place, selector?.places ?? []), totals);
    log(`fault:${scenario}: ${totals.faults} faults so far`);
  }
}

/** True if the point is selected; an empty selection selects all. */
function isSelected({ point, nth }: KillPoint, places: readonly KillPoint[]): boolean {
  return places.length === 0 || places.some((place) => place.point === point && place.nth === nth);
}

function selectedNames<Name extends string>(selector: PartSelector | null, all: readonly Name[]): readonly Name[] {
  return selector?.name == null ? all : all.filter((name) => name === selector.name);
}
