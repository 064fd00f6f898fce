import type { Cell, Outcome } from "./cell.ts";
import { inTurns } from "./in-turns.ts";
import type { Kill } from "./killer.ts";
import type { ScenarioName } from "./scenarios.ts";
import type { Stage } from "./stage.ts";
import { type Tally, tallied } from "./tally.ts";

export interface Choice {
  /** The places of the first process where it is killed. */
  first(kill: Kill): boolean;
  /** The places of the second process, after the first was killed there. */
  next(kill: Kill, after: Kill): boolean;
  readonly power?: boolean;
}

/** Goes through a scenario once without harm, and then dies at every chosen place that it passed. */
export async function goThrough(stage: Stage, scenario: ScenarioName, choice: Choice, tally: Tally): Promise<void> {
  const { power = false } = choice;
  const run = async (cell: Cell): Promise<Outcome> => {
    const outcome = await stage.run(cell);
    tallied(tally, outcome);
    return outcome;
  };
  const calm = await run({ cast: [scenario], kills: [], power });
  const places = (calm.report?.passed ?? []).filter(choice.first);
  const killed = await inTurns(places, (kill) => run({ cast: [scenario], kills: [kill], power }));
  const deeper = killed.flatMap(({ cell, report }) => {
    const [after] = cell.kills as [Kill];
    const next = (report?.passed ?? []).filter((kill) => choice.next(kill, after));
    return next.map((kill): Cell => ({ cast: [scenario], kills: [after, kill], power }));
  });
  await inTurns(deeper, run);
}
