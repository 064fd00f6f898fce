import type { Cell } from "./cell.ts";
import { inTurns } from "./in-turns.ts";
import type { Kill } from "./killer.ts";
import type { Stage } from "./stage.ts";
import { found, type Tally, tallied } from "./tally.ts";

/** Takes three processes with it, one after the other. */
const three: readonly Kill[] = [1, 2, 3].map(() => ({ point: "tool.called", nth: 1 }));

/** Where the one that parks it may die, too. */
export const whereParked: readonly Kill[] = [
  "recover.before",
  "recover.after",
  "notice.before",
  "notice.after",
  "told",
].map((point) => ({ point, nth: 1 }));

/** The run that kills its processes is parked by the fourth, however that one ends, and goes on when a person says so. */
export async function poison(stage: Stage, also: readonly Kill[], tally: Tally): Promise<void> {
  const cells = [[], ...also.map((kill) => [kill])].map(
    (more): Cell => ({ cast: ["poisonous"], kills: [...three, ...more] }),
  );
  await inTurns(cells, async (cell) => {
    const outcome = await stage.run(cell);
    tallied(tally, outcome);
    const events = outcome.report?.rest.runs.poisonous?.events ?? [];
    if (events.filter((event) => event.startsWith("run.poisoned")).length !== 1)
      found(tally, "poison", [{ kind: "untrue", what: "three processes died of it, and it was not parked once" }]);
  });
}
