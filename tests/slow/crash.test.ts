import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failpoints } from "../../src/engine/failpoint.ts";
import type { Kill } from "../crash/killer.ts";
import { type Choice, emptyTally, goThrough, inTurns, tallied } from "../crash/matrix.ts";
import { type ScenarioName, scenarios } from "../crash/scenarios.ts";
import { nameOf, type Outcome, Stage } from "../crash/stage.ts";
import type { Report } from "../crash/task.ts";

/** WRIT_CRASH=all dies everywhere, and twice in a row; otherwise a part that shows every road and every failpoint. */
const all = process.env.WRIT_CRASH === "all";
const names = Object.keys(scenarios) as ScenarioName[];
const stage = new Stage();
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

describe("an act nobody can look for, when its process is killed", () => {
  const outcomes = new Map<string, Outcome>();

  beforeAll(async () => {
    await inTurns(road, async ({ when, point, nth = 1 }) => {
      const outcome = await stage.run({ scenario: "opaque", kills: [{ point, nth }] });
      tallied(tally, outcome);
      outcomes.set(when, outcome);
    });
  }, 180_000);

  it.each(road)("$when ($point), is $state and happened $times times", ({ when, state, times }) => {
    const { findings, kills, report, counts } = outcomes.get(when) as Outcome;
    const found = { findings, kills, state: report?.rest.result.steps.send?.state, times: counts.send };
    expect(found).toEqual({ findings: [], kills: 1, state, times });
  });
});

describe("wherever a process is killed and started again, nothing happens twice, is lost, stuck or told wrongly:", () => {
  it.each(names.map((name) => [name, scenarios[name].about] as const))(
    "%s, %s",
    async (name) => {
      const before = tally.findings.length;
      await goThrough(stage, name, choiceFor(name), tally);
      expect(tally.findings.slice(before)).toEqual([]);
    },
    all ? 3_600_000 : 180_000,
  );

  it("inside a transaction", async () => {
    const before = tally.findings.length;
    const some = ({ point, nth }: Kill) => point === "sql" && (all || nth % 4 === 0);
    await goThrough(stage, "opaque", { first: some, next: () => false, sql: true }, tally);
    expect(tally.findings.slice(before)).toEqual([]);
  }, 900_000);

  it("by the clock, four times in a row", async () => {
    const before = tally.findings.length;
    const roads = Array.from({ length: all ? 100 : 6 }, (_, at) => names[at % names.length] as ScenarioName);
    await inTurns(roads, async (scenario) => {
      const { lastedMs } = await stage.run({ scenario, kills: [] });
      const soon = () => ({ afterMs: Math.random() * lastedMs, early: false });
      const kills = [{ afterMs: Math.random() * 300, early: true }, soon(), soon(), soon()];
      tallied(tally, await stage.run({ scenario, kills }));
    });
    expect(tally.findings.slice(before)).toEqual([]);
  }, 900_000);

  it("at every failpoint that the source names", () => {
    expect(failpoints.filter((point) => !tally.points.has(point))).toEqual([]);
  });
});

describe("while the store fails once, or loses one answer, and the process lives on", () => {
  it.each(all ? names : (["parallel"] as const))(
    "%s: nothing is asked twice, and an outcome in hand is recorded without doubt",
    async (scenario) => {
      const calm = await stage.run({ scenario, kills: [] });
      const places = (calm.report?.passed ?? []).filter(({ nth }) => all || nth === 2 || nth === 4);
      const cells = places.flatMap((place) => faultsAt(place).map((fault) => ({ ...place, fault })));
      const outcomes = await inTurns(cells, (kill) => stage.run({ scenario, kills: [kill] }));
      const bad = outcomes.filter(
        ({ report, findings }) => findings.length > 0 || statusIn(report) !== statusIn(calm.report),
      );
      expect(bad.map(({ cell, findings, report }) => [nameOf(cell), statusIn(report), findings])).toEqual([]);
    },
    all ? 3_600_000 : 180_000,
  );
});

const statusIn = (report: Report | null) => report?.rest.result.status;

function faultsAt({ point }: Kill): readonly NonNullable<Kill["fault"]>[] {
  if (point === "append.landed") return ["STORE_UNKNOWN"];
  return /^(append|mark|claim|blob|release)\.asked$/.test(point) ? ["STORE_FAILED"] : [];
}

/** Where the facts of a scenario fall between two points; the rest of the road is the same for all of them. */
const facts = /^(start\.after|mark\.after|tool\.after|end\.after|gate\.|approve\.|notice\.)/;
const factsOf: Partial<Record<ScenarioName, RegExp>> = {
  reads: /^tool\.sent$/,
  expired: /^(gate\.after|append\.landed)$/,
  cancelled: /^append\.landed$/,
};
const recovering = /^(recover|settle)\./;

function choiceFor(name: ScenarioName): Choice {
  if (all) return { first: () => true, next: (kill, after) => facts.test(after.point) && kill.point !== after.point };
  const settles = ["opaque", "verifiable", "idempotent", "undone"].includes(name);
  const few = ["parallel", "twice", "undone", "retracted", "hesitant"].includes(name);
  return {
    first: ({ point, nth }) => (factsOf[name] ?? facts).test(point) && (!few || nth === 2),
    next: ({ point }, after) => settles && recovering.test(point) && after.point === "tool.after",
  };
}
