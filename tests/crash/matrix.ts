import type { Kill } from "./killer.ts";
import type { ScenarioName } from "./scenarios.ts";
import { type Cell, nameOf, type Outcome, type Stage } from "./stage.ts";

/** What a run of the matrix adds up to. */
export interface Tally {
  cells: number;
  kills: number;
  /** Kills whose place was never reached. */
  missed: number;
  duplicates: number;
  lost: number;
  untrue: number;
  stuck: number;
  in_doubt: number;
  /** In words, each with its cell. */
  readonly findings: string[];
  /** The names of the places where a process died. */
  readonly points: Set<string>;
}

export function emptyTally(): Tally {
  const counts = { cells: 0, kills: 0, missed: 0, duplicates: 0, lost: 0, untrue: 0, stuck: 0, in_doubt: 0 };
  return { ...counts, findings: [], points: new Set() };
}

export function tallied(tally: Tally, { cell, kills, findings, report }: Outcome): void {
  tally.cells += 1;
  tally.kills += kills;
  tally.missed += cell.kills.length - kills;
  const kinds = findings.map(({ kind }) => kind);
  if (kinds.includes("twice")) tally.duplicates += 1;
  if (kinds.includes("lost")) tally.lost += 1;
  if (kinds.includes("untrue")) tally.untrue += 1;
  if (kinds.includes("stuck")) tally.stuck += 1;
  if (Object.values(report?.rest.result.steps ?? {}).some(({ state }) => state === "in_doubt")) tally.in_doubt += 1;
  tally.findings.push(...findings.map(({ kind, what }) => `${nameOf(cell)}: ${kind}: ${what}`));
  if (kills === cell.kills.length) for (const kill of cell.kills) if ("point" in kill) tally.points.add(kill.point);
}

export interface Choice {
  /** The places of the first process where it is killed. */
  first(kill: Kill): boolean;
  /** The places of the second process, after the first was killed there. */
  next(kill: Kill, after: Kill): boolean;
  readonly sql?: boolean;
}

/** Goes through a scenario once without harm, and then dies at every chosen place that it passed. */
export async function goThrough(stage: Stage, scenario: ScenarioName, choice: Choice, tally: Tally): Promise<void> {
  const sql = choice.sql ?? false;
  const run = async (cell: Cell): Promise<Outcome> => {
    const outcome = await stage.run(cell);
    tallied(tally, outcome);
    return outcome;
  };
  const calm = await run({ scenario, kills: [], sql });
  const places = (calm.report?.passed ?? []).filter(choice.first);
  const killed = await inTurns(places, (kill) => run({ scenario, kills: [kill], sql }));
  const deeper = killed.flatMap(({ cell, report }) => {
    const [after] = cell.kills as [Kill];
    const next = (report?.passed ?? []).filter((kill) => choice.next(kill, after));
    return next.map((kill): Cell => ({ scenario, kills: [after, kill], sql }));
  });
  await inTurns(deeper, run);
}

/** Does work on all items, a few at a time; the answers stand in the order of the items. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  const hand = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as Item);
  };
  await Promise.all(Array.from({ length: atOnce }, hand));
  return results;
}

/** How many children run at once. */
const atOnce = Number(process.env.WRIT_CRASH_JOBS ?? 2);
