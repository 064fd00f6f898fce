import { failpoints } from "../src/engine/failpoint.ts";
import { nameOf } from "./cell.ts";
import { type StoryName, stories } from "./commands.ts";
import { failOnce } from "./fail-once.ts";
import { inTurns, withAllHands } from "./in-turns.ts";
import type { Kill } from "./killer.ts";
import { type Choice, goThrough } from "./matrix.ts";
import { poison, whereParked } from "./poison.ts";
import { replay } from "./replay.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";
import { shift, shiftName } from "./shift.ts";
import type { Stage } from "./stage.ts";
import { found, type Tally, tallied } from "./tally.ts";
import type { PartName, Wanted } from "./wanted.ts";
import { playStory } from "./whole-process.ts";

/** What a part is given: what of it is wanted, how often chance strikes, and from which seed. */
interface Asked {
  readonly stage: Stage;
  readonly wanted: Wanted | null;
  readonly kills: number;
  readonly seed: number;
  readonly tally: Tally;
  say(line: string): void;
}

type Part = (asked: Asked) => Promise<void>;

const names = Object.keys(scenarios) as ScenarioName[];

/** Every part of the proof, by the name under which it is asked for. */
export const parts: Readonly<Record<PartName, Part>> = {
  kill: (asked) => cells(asked, false, everywhere),
  power: (asked) => cells(asked, true, betweenFacts),
  replay: replays,
  chance: chances,
  process: processes,
  fault: faults,
};

/** The scenarios whose every single write is a place to die, too; the others meet it by chance and by replay. */
const byWrite: readonly ScenarioName[] = ["opaque", "gated", "undone", "large"];

/** Where a second process dies, too: after the first has left something for it to find. */
const leaves = /^(mark\.after|tool\.after|gate\.after|approve\.after|notice\.after)$/;
const isFailpoint = ({ point }: Kill): boolean => (failpoints as readonly string[]).includes(point);

/** How often a worker looks for work depends on how fast it is, so only the first time is a place. */
const isSteady = ({ point, nth }: Kill): boolean => !/^(due|lock)\./.test(point) || nth === 1;

function everywhere(scenario: ScenarioName): Choice {
  return {
    first: (kill) => (kill.point === "sql" ? byWrite.includes(scenario) : isSteady(kill)),
    next: (kill, after) => leaves.test(after.point) && after.nth === 1 && isFailpoint(kill) && kill.nth === 1,
  };
}

function betweenFacts(): Choice {
  return {
    first: (kill) => isFailpoint(kill) || /^(told|tool\.|verify\.|append\.landed|mark\.landed)/.test(kill.point),
    next: (kill, after) => after.point === "tool.after" && after.nth === 1 && /^(recover|settle)\./.test(kill.point),
    power: true,
  };
}

async function cells(asked: Asked, power: boolean, choiceFor: (scenario: ScenarioName) => Choice): Promise<void> {
  const { stage, wanted, tally, say } = asked;
  for (const scenario of namesIn(wanted, names)) {
    if (wanted !== null && wanted.places.length > 0) {
      const cell = { cast: [scenario], kills: wanted.places, power };
      const outcome = await stage.run(cell);
      say(`${nameOf(cell)}: ${JSON.stringify(outcome.report?.rest.runs[scenario]?.result ?? null)}`);
      tallied(tally, outcome);
    } else {
      await goThrough(stage, scenario, choiceFor(scenario), tally);
      if (scenario === "poisonous" && !power) await poison(stage, whereParked, tally);
      say(`${power ? "power" : "kill"}:${scenario}: ${tally.cells} cells so far`);
    }
  }
}

async function replays({ stage, wanted, tally, say }: Asked): Promise<void> {
  const afterTool: Kill = { point: "tool.after", nth: 1 };
  const lives = namesIn(wanted, timeless).flatMap((scenario) => {
    const acts = Object.keys(scenarios[scenario].acts).length > 0 && !unreached.includes(scenario);
    if (wanted !== null && wanted.places.length > 0) return [{ scenario, after: wanted.places[0] as Kill }];
    return [{ scenario, after: null }, ...(acts ? [{ scenario, after: afterTool }] : [])];
  });
  await inTurns(lives, async ({ scenario, after }) => {
    const name = `replay:${scenario}${after === null ? "" : `@${after.point}#${after.nth}`}`;
    const { writes, syncs, prefixes, in_doubt, findings } = await replay(stage, scenario, after);
    tally.prefixes += prefixes;
    tally.in_doubt += in_doubt;
    for (const each of findings) found(tally, `${name} prefix ${each.name}`, each.findings);
    say(`${name}: ${writes} writes, ${syncs} syncs, ${prefixes} prefixes`);
  });
}

/** A minute that passes is on no tape, and neither is what a tool did to files beside the store. */
const timeless = names.filter((name) => name !== "scheduled" && name !== "filing");

/** Scenarios in which nobody is let go. */
const unreached: readonly ScenarioName[] = ["refused", "expired", "cancelled"];

async function chances({ stage, wanted, kills, seed, tally, say }: Asked): Promise<void> {
  const one = async (number: number): Promise<void> => {
    const outcome = await shift(stage, { seed, number });
    tallied(tally, outcome, shiftName({ seed, number }, outcome));
    say(`chance:${number}: ${outcome.kills} kills, ${tally.kills} so far`);
  };
  if (wanted?.name != null) return one(Number(wanted.name));
  let next = 0;
  await withAllHands(async () => {
    while (tally.kills < kills) await one(next++);
  });
}

async function processes({ stage, wanted, tally, say }: Asked): Promise<void> {
  for (const story of namesIn(wanted, Object.keys(stories) as StoryName[])) {
    const [place] = wanted?.places ?? [];
    const chosen = (at: number, nth: number) => place === undefined || (place.point === `${at}` && place.nth === nth);
    await playStory(stage, story, chosen, tally);
    say(`process:${story}: ${tally.cells} cells so far`);
  }
}

/** The store fails once, or an answer of it is lost, and the process lives on. */
async function faults({ stage, wanted, tally, say }: Asked): Promise<void> {
  for (const scenario of namesIn(wanted, names)) {
    await failOnce(stage, scenario, (place) => isOneOf(place, wanted?.places ?? []), tally);
    say(`fault:${scenario}: ${tally.faults} faults so far`);
  }
}

/** Without places, all of them. */
function isOneOf({ point, nth }: Kill, places: readonly Kill[]): boolean {
  return places.length === 0 || places.some((place) => place.point === point && place.nth === nth);
}

function namesIn<Name extends string>(wanted: Wanted | null, all: readonly Name[]): readonly Name[] {
  return wanted?.name == null ? all : all.filter((name) => name === wanted.name);
}
