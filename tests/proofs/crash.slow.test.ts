import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allFailpoints } from "../../crash/all-failpoints.ts";
import type { CellOutcome } from "../../crash/cell.ts";
import { CellRunner } from "../../crash/cell-runner.ts";
import { failOnce } from "../../crash/fail-once.ts";
import { killUntilParked } from "../../crash/kill-until-parked.ts";
import { mapConcurrently } from "../../crash/map-concurrently.ts";
import { addOutcome, newPartTotals } from "../../crash/part-totals.ts";
import { replayPrefixes } from "../../crash/replay-prefixes.ts";
import { runCliKillMatrix } from "../../crash/run-cli-kill-matrix.ts";
import { type KillSelection, runKillMatrix } from "../../crash/run-kill-matrix.ts";
import { type PairSelection, runPairMatrix } from "../../crash/run-pair-matrix.ts";
import { randomKillName, runRandomKills } from "../../crash/run-random-kills.ts";
import { type ScenarioName, scenarios } from "../../crash/scenarios.ts";
import { takesAllCases } from "../select-cases.ts";

/**
 * Covers every kind of step and every kill mode, and in the long proofs every failpoint. `npm run crash` kills at every
 * point, and at random moments of a new seed.
 */
const names = Object.keys(scenarios) as ScenarioName[];
const runner = await CellRunner.create();
const totals = newPartTotals();

afterAll(() => {
  runner.close();
  const { findings: _, points, ...counts } = totals;
  console.log(JSON.stringify({ ...counts, points: points.size }));
});

/** A kill point, and the expected state and effect count of the step. */
interface Place {
  readonly when: string;
  readonly point: string;
  readonly nth?: number;
  readonly state: "succeeded" | "in_doubt";
  readonly times: number;
}

const killPlaces: readonly Place[] = [
  { when: "before the run is accepted", point: "accept.before", state: "succeeded", times: 1 },
  {
    when: "after the acceptance is written, before the caller is answered",
    point: "append.landed",
    state: "succeeded",
    times: 1,
  },
  { when: "after the run is accepted", point: "accept.after", state: "succeeded", times: 1 },
  { when: "after the run is claimed", point: "claim.after", state: "succeeded", times: 1 },
  { when: "before the start is recorded", point: "start.before", state: "succeeded", times: 1 },
  { when: "after the start is recorded", point: "start.after", state: "succeeded", times: 1 },
  { when: "before the send marker is written", point: "mark.asked", state: "succeeded", times: 1 },
  { when: "after the send marker is written", point: "mark.after", state: "in_doubt", times: 0 },
  { when: "after the tool is called, before its effect", point: "tool.called", state: "in_doubt", times: 0 },
  { when: "after the effect, before the tool has answered", point: "tool.sent", state: "in_doubt", times: 1 },
  { when: "after the tool has answered", point: "tool.after", state: "in_doubt", times: 1 },
  {
    when: "after the outcome is written, before the caller is answered",
    point: "append.landed",
    nth: 3,
    state: "succeeded",
    times: 1,
  },
  { when: "after the outcome is recorded", point: "end.after", state: "succeeded", times: 1 },
  { when: "before the lease is released", point: "release.before", state: "succeeded", times: 1 },
];

/** The same after a power cut: no marker is proof then, so more acts are in doubt. */
const powerCutPlaces: readonly Place[] = [
  { when: "after the run is accepted", point: "accept.after", state: "succeeded", times: 1 },
  { when: "before the start is recorded", point: "start.before", state: "succeeded", times: 1 },
  { when: "after the start is recorded", point: "start.after", state: "in_doubt", times: 0 },
  { when: "after the send marker is written", point: "mark.after", state: "in_doubt", times: 0 },
  { when: "after the tool has answered", point: "tool.after", state: "in_doubt", times: 1 },
  { when: "after the outcome is recorded", point: "end.after", state: "succeeded", times: 1 },
];

describe.each([
  { how: "its process is killed", places: killPlaces, power: false },
  { how: "the power is cut", places: powerCutPlaces, power: true },
])("act without a verifier, when $how", ({ places, power }) => {
  const outcomes = new Map<string, CellOutcome>();

  beforeAll(async () => {
    await mapConcurrently(places, async ({ when, point, nth = 1 }) => {
      const outcome = await runner.run({ scenarioNames: ["opaque"], kills: [{ point, nth }], power });
      addOutcome(totals, outcome);
      outcomes.set(when, outcome);
    });
  }, 180_000);

  it.each(places)("$when ($point), is $state and happened $times times", ({ when, state, times }) => {
    const { findings, kills, report, counts } = outcomes.get(when) as CellOutcome;
    const found = {
      findings,
      kills,
      state: report?.recovered.runs.opaque?.result.steps.send?.state,
      times: counts.send,
    };
    expect(found).toEqual({ findings: [], kills: 1, state, times });
  });
});

/** Runs a part and returns its findings. */
async function findingsOf(part: () => Promise<unknown>): Promise<readonly string[]> {
  const before = totals.findings.length;
  await part();
  return totals.findings.slice(before);
}

describe("after a kill and a restart no act is doubled, lost, stuck or misreported:", () => {
  it.each(names.map((name) => [name, scenarios[name].about] as const))(
    "%s, %s",
    async (name) => {
      expect(await findingsOf(() => runKillMatrix(runner, name, selectionFor(name), totals))).toEqual([]);
    },
    180_000,
  );

  it("three times in a row by one step, which is then parked and continues when a person resumes it", async () => {
    expect(await findingsOf(() => killUntilParked(runner, [], totals))).toEqual([]);
  }, 180_000);

  it("inside a transaction", async () => {
    const some: KillSelection = { first: ({ point, nth }) => point === "sql" && nth % 6 === 0, next: () => false };
    expect(await findingsOf(() => runKillMatrix(runner, "opaque", some, totals))).toEqual([]);
  }, 180_000);

  it.each([
    ...(takesAllCases ? ([["at random moments, repeatedly", 0]] as const) : []),
    ["at random moments, repeatedly, each with a power cut", 1],
  ] as const)(
    "%s",
    async (_, number) => {
      const which = { seed: 20_261_118, number };
      const found = await findingsOf(async () => {
        const outcome = await runRandomKills(runner, which);
        addOutcome(totals, outcome, randomKillName(which, outcome));
      });
      expect(found).toEqual([]);
    },
    180_000,
  );

  it("of the whole process, at a write of a command", async () => {
    expect(await findingsOf(() => runCliKillMatrix(runner, "sent", (_, nth) => nth % 20 === 7, totals))).toEqual([]);
  }, 180_000);

  it("of one or both of two processes on a store", async () => {
    const some: PairSelection = {
      first: ({ point }) =>
        (takesAllCases ? /^(tool\.sent|end\.after|unregister\.after)$/ : /^tool\.sent$/).test(point),
      second: ({ point, nth }) => /^(lock|register|look|evict|recover)\.(before|after)$/.test(point) && nth === 1,
    };
    expect(await findingsOf(() => runPairMatrix(runner, "opaque", some, totals))).toEqual([]);
  }, 180_000);

  it("at every failpoint of the source, or at half of them in a part of the cases", () => {
    const missed = allFailpoints.filter((point) => !totals.points.has(point));
    expect(missed.slice(takesAllCases ? 0 : allFailpoints.length / 2)).toEqual([]);
  });
});

describe("from every prefix of the written bytes, with torn writes and power cuts,", () => {
  it.each([
    ["a process", null],
    ["a process after a kill", { point: "tool.after", nth: 1 }],
  ])(
    "%s resumes, and no act is doubled, lost, stuck or misreported",
    async (_, after) => {
      const every = takesAllCases ? 1 : 5;
      const { prefixes, syncs, in_doubt, findings } = await replayPrefixes(runner, "opaque", after, every);
      expect(findings).toEqual([]);
      expect([prefixes * every > 50, syncs > 1, in_doubt > 0]).toEqual([true, true, true]);
    },
    180_000,
  );
});

describe("store that fails once or loses one answer while the process lives", () => {
  it("makes no call twice, and a known outcome is recorded without doubt", async () => {
    const chosen = ({ nth }: { readonly nth: number }) => nth === 2 || nth === 4;
    expect(await findingsOf(() => failOnce(runner, "parallel", chosen, totals))).toEqual([]);
  }, 180_000);
});

/** The kill points that are special to a scenario; all scenarios share the others. */
const usualPoints = /^(start\.after|tool\.after|gate\.|approve\.|notice\.)/;
const pointsByScenario: Partial<Record<ScenarioName, RegExp>> = {
  pure: /^(tool\.sent|results\.before)$/,
  reads: /^(tool\.sent|results\.before)$/,
  writes: /^tool\.sent$/,
  opaque: /^(start\.after|tool\.after|(un)?register\.(before|after))$/,
  expired: /^(gate\.after|append\.landed)$/,
  cancelled: /^append\.landed$/,
  child: /^(accept|notice)\.after$/,
  scheduled: /^accept\.after$/,
  poisonous: /^tool\.sent$/,
  confirmed: /^(confirm\.|verify\.asked)/,
  vanished: /^(confirm\.|verify\.asked)/,
  verified: /^(verify\.asked|append\.landed)$/,
  retried: /^append\.landed$/,
  filing: /^(close|restore|rewind|keep)\./,
  snapshot: /^(close|keep)\./,
  held: /^(verb|gate|approve)\./,
  session: /^(append\.landed|gate\.after|approve\.after|tool\.after|end\.after)$/,
  hosted: /^(start\.after|mark\.after|begin\.after|host\.began|tool\.sent|host\.done|append\.landed)$/,
  heldBackup: /^verb\./,
  heldFork: /^(verb|accept)\./,
  heldRestore: /^(verb|rewind|keep)\./,
  heldUndo: /^(verb|approve)\./,
  model: /^(append\.landed|model\.asked|tool\.sent|end\.after)$/,
  stream: /^(append\.landed|model\.asked|model\.chunk)$/,
  uncaptured: /^(tool\.|close\.|recover\.)/,
  watched: /^(tool|close|restore|rewind|keep|recover)\./,
  rollback: takesAllCases ? /^(tool\.sent|close\.|rollback\.|keep\.)/ : /^rollback\./,
};
const recovering = /^(recover|settle|evict)\./;

function selectionFor(name: ScenarioName): KillSelection {
  const settlesAllDoubts = ["opaque", "verifiable"].includes(name);
  const few = ["parallel", "twice", "undone", "retracted", "hesitant"].includes(name);
  const every = takesAllCases ? 1 : 4;
  let found = 0;
  return {
    first: ({ point, nth }) =>
      (pointsByScenario[name] ?? usualPoints).test(point) && (!few || nth === 2) && found++ % every === 0,
    next: ({ point }, after) => settlesAllDoubts && recovering.test(point) && after.point === "tool.after",
  };
}
