import { describe, expect, it } from "vitest";
import { allFailpoints } from "../../crash/all-failpoints.ts";
import { type Cell, cellName } from "../../crash/cell.ts";
import { checkRun } from "../../crash/check-run.ts";
import { parseCrashArguments } from "../../crash/crash-arguments.ts";
import { crashFailures, summarizeCrash } from "../../crash/crash-report.ts";
import { parsePartSelector } from "../../crash/part-selector.ts";
import { addFindings, addKillPoint, newPartTotals, type PartTotals } from "../../crash/part-totals.ts";
import { randomKillName } from "../../crash/run-random-kills.ts";
import type { FinalRun } from "../../crash/run-user-program.ts";
import { scenarios } from "../../crash/scenarios.ts";
import { writePrefixes } from "../../crash/write-prefixes.ts";
import type { Moment, WriteBatch, WriteRecorder } from "../../crash/write-recorder.ts";

/** Returns the results of crash tests without findings. */
function makeSoundResults(change: (totals: PartTotals) => void = () => {}) {
  const totals = { ...newPartTotals(), cells: 150, kills: 2000 };
  for (const point of allFailpoints) addKillPoint(totals, point, ["opaque"]);
  change(totals);
  return [{ part: "chance", totals, seconds: 1 }] as const;
}

const all = { kills: 2000, isComplete: true };

describe("crash report", () => {
  it("has the fields a script reads and no complaint when every check passes", () => {
    expect(crashFailures(makeSoundResults(), all)).toEqual([]);
    expect(summarizeCrash(makeSoundResults())).toMatchObject({
      cells: 150,
      kills: 2000,
      duplicates: 0,
      lost: 0,
      stuck: 0,
      in_doubt: 0,
    });
  });

  it.each(["twice", "lost", "stuck", "untrue"] as const)("complains about a case that is %s", (kind) => {
    const results = makeSoundResults((totals) => addFindings(totals, "kill:opaque", [{ kind, what: "it is" }]));
    expect(crashFailures(results, all)).toHaveLength(1);
    expect(crashFailures(results, { ...all, isComplete: false })).toHaveLength(1);
  });

  it("complains about a failpoint where no process died", () => {
    const results = makeSoundResults((totals) => totals.points.delete("mark.after"));
    expect(crashFailures(results, all)).toEqual(["no cell kills at mark.after"]);
    expect(summarizeCrash(results).uncovered).toEqual(["mark.after"]);
  });

  it("complains about too few cells and too few kills", () => {
    const reduce = (totals: PartTotals) => Object.assign(totals, { cells: 149, kills: 1999 });
    expect(crashFailures(makeSoundResults(reduce), all)).toHaveLength(2);
  });

  it("complains when a requested case is missing", () => {
    expect(
      crashFailures([{ part: "kill", totals: newPartTotals(), seconds: 0 }], { kills: 0, isComplete: false }),
    ).toHaveLength(1);
  });
});

describe("crash test cell", () => {
  const kills = [
    { point: "tool.after", nth: 1 },
    { point: "settle.before", nth: 2 },
  ];

  it.each([
    { scenarioNames: ["opaque"], kills: [] },
    { scenarioNames: ["verifiable"], kills },
    { scenarioNames: ["gated"], kills, power: true },
  ] satisfies Cell[])("is requested by the name it is reported under: %o", (cell: Cell) => {
    const { scenarioNames, power = false } = cell;
    const selector = { part: power ? "power" : "kill", name: scenarioNames[0], places: cell.kills };
    expect(parsePartSelector(cellName(cell))).toEqual(selector);
    expect(parseCrashArguments(["--only", cellName(cell)], 7)).toMatchObject({ only: selector, seed: 7, kills: 2000 });
  });

  it.each(["bogus", "kill:opaque@nowhere", "kill@", "replay:"])(
    "is refused when its name does not parse: %s",
    (text) => {
      expect(parseCrashArguments(["--only", text], 7)).toHaveProperty("wrong");
    },
  );
});

describe("crash finding", () => {
  it("names the scenario, its run, the states of its steps and the last events", () => {
    const fault = { code: "BUDGET_EXCEEDED", message: "nothing is left" };
    const result = { run_id: "run_7", status: "failed", final: true, steps: { ask: { state: "rejected", fault } } };
    const events = ["run.accepted run_7", "step.rejected ask", "run.ended failed"];
    const run = { result, ledger: [], notices: [], events } as unknown as FinalRun;
    const store = { runs: { metered: run }, broken: [] };
    const report = { recovered: store, restarted: store, entries: 0, leftovers: [], passed: [] };
    const found = checkRun({
      name: "metered",
      scenario: scenarios.metered,
      report,
      entries: [],
      reported: [],
      kills: 3,
    });
    expect(found).toEqual([
      {
        kind: "untrue",
        what: "metered (run_7): the run is failed; steps: ask rejected (BUDGET_EXCEEDED: nothing is left); last of 3 events: run.accepted run_7, step.rejected ask, run.ended failed",
      },
    ]);
  });

  it("of a random kill names its seed and the failpoint", () => {
    const cell: Cell = {
      scenarioNames: ["opaque"],
      kills: [
        { point: "sql", nth: 12 },
        { afterMs: 3.5, early: false },
      ],
    };
    const outcome = { cell, kills: 2, findings: [], report: null, counts: {} };
    expect(randomKillName({ seed: 7, number: 1 }, outcome)).toBe("chance:1 of seed 7, killed at sql#12,3.500ms");
  });
});

describe("states of a recorded process", () => {
  const page = (byte: number) => Buffer.alloc(4096, byte);
  const moment = (worldSize: number, ...lockFiles: string[]): Moment => ({ worldSize, lockFiles });
  const soft: WriteBatch = {
    writes: [{ file: "wal", at: 0, bytes: page(1) }],
    synced: false,
    before: moment(10),
    after: moment(20, "a.lock"),
  };
  const hard: WriteBatch = {
    writes: [
      { file: "wal", at: 4096, bytes: page(2) },
      { file: "wal", at: 8192, bytes: page(3) },
    ],
    synced: true,
    before: moment(30, "a.lock"),
    after: moment(40, "a.lock"),
  };
  const recorder = {
    first: { db: null, wal: null },
    start: moment(5),
    batches: [soft, hard],
  } as unknown as WriteRecorder;
  const states = [...writePrefixes(recorder, moment(50))];
  const brief = states.map(({ name, files, worldSize, power }) => [name, files.wal?.length ?? 0, worldSize, power]);

  it("are every write, complete and torn, with the effects possible by then", () => {
    expect(brief.filter(([, , , power]) => power === false)).toEqual([
      ["0", 0, 5, false],
      ["0 late", 0, 10, false],
      ["1 torn", 24, 10, false],
      ["1", 4096, 20, false],
      ["1 late", 4096, 30, false],
      ["2 torn", 8192, 30, false],
      ["2", 8192, 40, false],
      ["3 torn", 10_240, 30, false],
      ["3", 12_288, 40, false],
      ["3 late", 12_288, 50, false],
    ]);
  });

  it("have the lock files of that moment, and none after a power cut", () => {
    const named = states.filter(({ lockFiles }) => lockFiles.length > 0).map(({ name }) => name);
    expect(named).toEqual(["1", "1 late", "2 torn", "2", "3 torn", "3"]);
  });

  it("after a power cut come after every effect before the next sync", () => {
    expect(brief.filter(([, , , power]) => power === true)).toEqual([
      ["0 power", 0, 30, true],
      ["1 power", 4096, 30, true],
      ["3 power", 12_288, 50, true],
    ]);
  });
});
