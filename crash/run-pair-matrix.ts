import { once } from "node:events";
import { rmSync } from "node:fs";
import { isFailpoint } from "./all-failpoints.ts";
import { killName } from "./cell.ts";
import { type CellRunner, checkCell } from "./cell-runner.ts";
import type { CrashFinding } from "./check-run.ts";
import type { KillPoint } from "./killer.ts";
import { mapConcurrently } from "./map-concurrently.ts";
import { FIRST_HOLDS, isHandedOver, PAIR_WORLD, type PairMember, type PairTask, secondJoined } from "./pair-task.ts";
import { addOutcome, type PartTotals } from "./part-totals.ts";
import type { ScenarioName } from "./scenarios.ts";
import { worldFile } from "./store-files.ts";
import { type ProcessExit, waitForExit } from "./wait-for-exit.ts";
import { WorldLog } from "./world-log.ts";

/** Scenarios without a person, who would act in both processes. */
export const pairScenarios = ["opaque", "verifiable", "parallel", "notice", "waiting", "child", "handed"] as const;

/** The points at which the processes of a pair are killed; null: it is not killed. */
export type PairKills = Readonly<Record<PairMember, KillPoint | null>>;

export interface PairSelection {
  /** Selects the kill points of the first process, after the second one has joined it. */
  first(kill: KillPoint): boolean;
  /** Selects the kill points of the second process, beside a first one that lives or has died. */
  second(kill: KillPoint): boolean;
}

const neither: PairKills = { first: null, second: null };

/** The points at which the first process leaves something to recover; only a call that acts passes the first one. */
const pointsAfterCall: readonly string[] = ["tool.after", "notice.before"];

/**
 * Runs a scenario in two processes on one store. Kills the first at every selected point: the second evicts it and
 * continues its run. Kills the second at every selected point, while the first lives and while it evicts the first.
 */
export async function runPairMatrix(
  runner: CellRunner,
  scenario: ScenarioName,
  selection: PairSelection,
  totals: PartTotals,
): Promise<void> {
  const run = (kills: PairKills) => runPair(runner, scenario, kills, totals);
  const beside = await run(neither);
  const held = beside.first.slice(beside.first.findIndex(({ point }) => point === "tool.called") + 1);
  const called = held.find(({ point }) => pointsAfterCall.includes(point)) ?? null;
  const after = await run({ first: called, second: null });
  const cells: readonly PairKills[] = [
    ...held.filter(selection.first).map((first) => ({ first, second: null })),
    ...beside.second.filter(selection.second).map((second) => ({ first: null, second })),
    ...after.second.filter(selection.second).map((second) => ({ first: called, second })),
  ];
  await mapConcurrently(cells, run);
}

/** Runs one pair and then a last process that completes everything, and returns the points that the pair passed. */
export async function runPair(
  runner: CellRunner,
  scenario: ScenarioName,
  kills: PairKills,
  totals: PartTotals,
): Promise<Readonly<Record<PairMember, readonly KillPoint[]>>> {
  const folder = runner.newFolder();
  const exits = await runBoth(runner, { scenario, folder }, kills);
  const members = ["first", "second"] as const;
  const findings = members.flatMap((member) => checkExit(member, exits[member], kills[member]));
  const killed = members.filter((member) => exits[member].signal === "SIGKILL" && !exits[member].stuck).length;
  const cell = { scenarioNames: [scenario], kills: members.flatMap((member) => kills[member] ?? []) };
  const last = await runner.runProcess(cell, folder, killed, null, null);
  // The last process is the third one, so a call without an effect may happen three times.
  const outcome = await checkCell(cell, folder, members.length, last);
  addOutcome(
    totals,
    { ...outcome, kills: killed, findings: [...findings, ...outcome.findings] },
    pairName(scenario, kills),
  );
  rmSync(folder, { recursive: true });
  return { first: passedPoints(exits.first), second: passedPoints(exits.second) };
}

function pairName(scenario: ScenarioName, { first, second }: PairKills): string {
  const places = [first && killName(first), second && `second/${killName(second)}`].filter((place) => place !== null);
  return `pair:${scenario}${places.length === 0 ? "" : `@${places.join(",")}`}`;
}

/** Starts the second process when the first one holds the run, or has ended before. */
async function runBoth(
  runner: CellRunner,
  task: Pick<PairTask, "scenario" | "folder">,
  kills: PairKills,
): Promise<Readonly<Record<PairMember, ProcessExit>>> {
  const start = (member: PairMember) => {
    const pairTask: PairTask = { ...task, member, kill: kills[member] };
    return runner.start([runner.program("pair-member")], { WRIT_CRASH_TASK: JSON.stringify(pairTask) });
  };
  const first = start("first");
  const firstExit = waitForExit(first, runner.stuckMs);
  await Promise.race([firstExit, first.stdout === null ? null : once(first.stdout, "data")]);
  const second = await waitForExit(start("second"), runner.stuckMs);
  // A second process that died before it joined does not keep the first one waiting.
  new WorldLog(worldFile(task.folder), PAIR_WORLD).append(secondJoined);
  if (isHandedOver(task.scenario) && second.code !== 0 && kills.first === null) first.kill("SIGTERM");
  return { first: await firstExit, second };
}

function checkExit(
  member: PairMember,
  { stuck, signal, code, stderr }: ProcessExit,
  kill: KillPoint | null,
): readonly CrashFinding[] {
  if (stuck) return [{ kind: "stuck", what: `the ${member} process hangs beside the other one` }];
  if ((signal === "SIGKILL" && kill !== null) || signal === "SIGTERM" || code === 0) return [];
  return [{ kind: "untrue", what: `the ${member} process fails beside the other one: ${stderr}` }];
}

function passedPoints({ code, stdout }: ProcessExit): readonly KillPoint[] {
  return code === 0 ? (JSON.parse(stdout.replaceAll(FIRST_HOLDS, "")) as readonly KillPoint[]) : [];
}

/** Selects all points; how often a worker looks for runs and at others depends on its speed. */
export const allPairPoints: PairSelection = {
  first: ({ point, nth }) => !/^(due|look)\./.test(point) || nth === 1,
  second: ({ point, nth }) => (isFailpoint(point) || /^(ask|claim|handover)\./.test(point)) && nth === 1,
};
