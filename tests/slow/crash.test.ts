import { randomInt } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Outcome } from "../../crash/cell.ts";
import { failOnce } from "../../crash/fail-once.ts";
import { inTurns } from "../../crash/in-turns.ts";
import { type Choice, goThrough } from "../../crash/matrix.ts";
import { poison } from "../../crash/poison.ts";
import { replay } from "../../crash/replay.ts";
import { type ScenarioName, scenarios } from "../../crash/scenarios.ts";
import { shift, shiftName } from "../../crash/shift.ts";
import { Stage } from "../../crash/stage.ts";
import { emptyTally, tallied } from "../../crash/tally.ts";
import { playStory } from "../../crash/whole-process.ts";
import { failpoints } from "../../src/engine/failpoint.ts";

/** A part that shows every road, every failpoint and every way to die; `npm run crash` dies everywhere. */
const names = Object.keys(scenarios) as ScenarioName[];
const stage = await Stage.raise();
const tally = emptyTally();

afterAll(() => {
  stage.strike();
  const { findings: _, points, ...counts } = tally;
  console.log(JSON.stringify({ ...counts, points: points.size }));
});

/** Where the process dies, what the step is called afterwards, and how often the world has seen it. */
interface Place {
  readonly when: string;
  readonly point: string;
  readonly nth?: number;
  readonly state: "succeeded" | "in_doubt";
  readonly times: number;
}

const road: readonly Place[] = [
  { when: "before the run is accepted", point: "accept.before", state: "succeeded", times: 1 },
  { when: "when it was accepted and nobody was told", point: "append.landed", state: "succeeded", times: 1 },
  { when: "when it is accepted", point: "accept.after", state: "succeeded", times: 1 },
  { when: "when it is claimed", point: "claim.after", state: "succeeded", times: 1 },
  { when: "before it is started", point: "start.before", state: "succeeded", times: 1 },
  { when: "when it is started on the record", point: "start.after", state: "succeeded", times: 1 },
  { when: "before its send marker is written", point: "mark.asked", state: "succeeded", times: 1 },
  { when: "when its send marker is written", point: "mark.after", state: "in_doubt", times: 0 },
  { when: "when the tool is called and has done nothing", point: "tool.called", state: "in_doubt", times: 0 },
  { when: "when the tool has done it and not answered", point: "tool.sent", state: "in_doubt", times: 1 },
  { when: "when the tool has answered", point: "tool.after", state: "in_doubt", times: 1 },
  {
    when: "when its outcome has landed and nobody was told",
    point: "append.landed",
    nth: 3,
    state: "succeeded",
    times: 1,
  },
  { when: "when its outcome is recorded", point: "end.after", state: "succeeded", times: 1 },
  { when: "before the run is let go", point: "release.before", state: "succeeded", times: 1 },
];

/** The same road when the power goes, too: no marker proves anything then, so more is in doubt. */
const darkRoad: readonly Place[] = [
  { when: "when it is accepted", point: "accept.after", state: "succeeded", times: 1 },
  { when: "before it is started", point: "start.before", state: "succeeded", times: 1 },
  { when: "when it is started on the record", point: "start.after", state: "in_doubt", times: 0 },
  { when: "when its send marker is written", point: "mark.after", state: "in_doubt", times: 0 },
  { when: "when the tool has answered", point: "tool.after", state: "in_doubt", times: 1 },
  { when: "when its outcome is recorded", point: "end.after", state: "succeeded", times: 1 },
];

describe.each([
  { how: "its process is killed", places: road, power: false },
  { how: "the power is cut", places: darkRoad, power: true },
])("an act nobody can look for, when $how", ({ places, power }) => {
  const outcomes = new Map<string, Outcome>();

  beforeAll(async () => {
    await inTurns(places, async ({ when, point, nth = 1 }) => {
      const outcome = await stage.run({ cast: ["opaque"], kills: [{ point, nth }], power });
      tallied(tally, outcome);
      outcomes.set(when, outcome);
    });
  }, 180_000);

  it.each(places)("$when ($point), is $state and happened $times times", ({ when, state, times }) => {
    const { findings, kills, report, counts } = outcomes.get(when) as Outcome;
    const found = { findings, kills, state: report?.rest.runs.opaque?.result.steps.send?.state, times: counts.send };
    expect(found).toEqual({ findings: [], kills: 1, state, times });
  });
});

/** What a part of the proof found wrong. */
async function findingsOf(part: () => Promise<unknown>): Promise<readonly string[]> {
  const before = tally.findings.length;
  await part();
  return tally.findings.slice(before);
}

describe("wherever a process is killed and started again, nothing happens twice, is lost, stuck or told wrongly:", () => {
  it.each(names.map((name) => [name, scenarios[name].about] as const))(
    "%s, %s",
    async (name) => {
      expect(await findingsOf(() => goThrough(stage, name, choiceFor(name), tally))).toEqual([]);
    },
    180_000,
  );

  it("three times in a row by one step, which is then parked and goes on when a person says so", async () => {
    expect(await findingsOf(() => poison(stage, [], tally))).toEqual([]);
  }, 180_000);

  it("inside a transaction", async () => {
    const some: Choice = { first: ({ point, nth }) => point === "sql" && nth % 6 === 0, next: () => false };
    expect(await findingsOf(() => goThrough(stage, "opaque", some, tally))).toEqual([]);
  }, 180_000);

  it.each([
    ["by chance, again and again", 0],
    ["by chance, again and again, and the power with it", 1],
  ])(
    "%s",
    async (_, number) => {
      const which = { seed: randomInt(2 ** 31), number };
      const found = await findingsOf(async () => {
        const outcome = await shift(stage, which);
        tallied(tally, outcome, shiftName(which, outcome));
      });
      expect(found).toEqual([]);
    },
    180_000,
  );

  it("as a whole, at a write of a command", async () => {
    expect(await findingsOf(() => playStory(stage, "sent", (_, nth) => nth % 20 === 7, tally))).toEqual([]);
  }, 180_000);

  it("at every failpoint that the source names", () => {
    expect(failpoints.filter((point) => !tally.points.has(point))).toEqual([]);
  });
});

describe("from every prefix of what was written, torn writes and cut power among them,", () => {
  it.each([
    ["a life", null],
    ["a life after a kill", { point: "tool.after", nth: 1 }],
  ])(
    "%s is taken up again, and nothing happens twice, is lost, stuck or told wrongly",
    async (_, after) => {
      const { prefixes, syncs, in_doubt, findings } = await replay(stage, "opaque", after);
      expect(findings).toEqual([]);
      expect([prefixes > 50, syncs > 1, in_doubt > 0]).toEqual([true, true, true]);
    },
    180_000,
  );
});

describe("while the store fails once, or loses one answer, and the process lives on", () => {
  it("nothing is asked twice, and an outcome in hand is recorded without doubt", async () => {
    const chosen = ({ nth }: { readonly nth: number }) => nth === 2 || nth === 4;
    expect(await findingsOf(() => failOnce(stage, "parallel", chosen, tally))).toEqual([]);
  }, 180_000);
});

/** Where the facts of a scenario fall between two points; the rest of the road is the same for all of them. */
const facts = /^(start\.after|tool\.after|gate\.|approve\.|notice\.)/;
const factsOf: Partial<Record<ScenarioName, RegExp>> = {
  pure: /^tool\.sent$/,
  reads: /^tool\.sent$/,
  writes: /^tool\.sent$/,
  expired: /^(gate\.after|append\.landed)$/,
  cancelled: /^append\.landed$/,
  child: /^(accept|notice)\.after$/,
  scheduled: /^accept\.after$/,
  poisonous: /^tool\.sent$/,
  filing: /^(close|restore|rewind|keep)\./,
};
const recovering = /^(recover|settle)\./;

function choiceFor(name: ScenarioName): Choice {
  const settles = ["opaque", "verifiable"].includes(name);
  const few = ["parallel", "twice", "undone", "retracted", "hesitant"].includes(name);
  return {
    first: ({ point, nth }) => (factsOf[name] ?? facts).test(point) && (!few || nth === 2),
    next: ({ point }, after) => settles && recovering.test(point) && after.point === "tool.after",
  };
}
