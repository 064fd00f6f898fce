import { describe, expect, it } from "vitest";
import { readArguments } from "../crash/arguments.ts";
import { type Cell, nameOf } from "../crash/cell.ts";
import { judge } from "../crash/judge.ts";
import { prefixesOf } from "../crash/prefixes.ts";
import type { Driven } from "../crash/program.ts";
import { complaints, sumOf } from "../crash/report.ts";
import { scenarios } from "../crash/scenarios.ts";
import { shiftName } from "../crash/shift.ts";
import { died, emptyTally, found, type Tally } from "../crash/tally.ts";
import type { Tape, Turn } from "../crash/tape.ts";
import { readWanted } from "../crash/wanted.ts";
import { failpoints } from "../src/engine/failpoint.ts";

/** A run of the proof in which everything went well. */
function sound(change: (tally: Tally) => void = () => {}) {
  const tally = { ...emptyTally(), cells: 150, kills: 2000 };
  for (const point of failpoints) died(tally, point, ["opaque"]);
  change(tally);
  return [{ part: "chance", tally, seconds: 1 }] as const;
}

const all = { kills: 2000, whole: true };

describe("the figures of the crash proof", () => {
  it("have what a script reads, and nothing to complain about when all went well", () => {
    expect(complaints(sound(), all)).toEqual([]);
    expect(sumOf(sound())).toMatchObject({ cells: 150, kills: 2000, duplicates: 0, lost: 0, stuck: 0, in_doubt: 0 });
  });

  it.each(["twice", "lost", "stuck", "untrue"] as const)("complain about a case that is %s", (kind) => {
    const played = sound((tally) => found(tally, "kill:opaque", [{ kind, what: "it is" }]));
    expect(complaints(played, all)).toHaveLength(1);
    expect(complaints(played, { ...all, whole: false })).toHaveLength(1);
  });

  it("complain about a failpoint at which nothing died", () => {
    const played = sound((tally) => tally.points.delete("mark.after"));
    expect(complaints(played, all)).toEqual(["no cell kills at mark.after"]);
    expect(sumOf(played).uncovered).toEqual(["mark.after"]);
  });

  it("complain about too few cells and too few kills", () => {
    const few = (tally: Tally) => Object.assign(tally, { cells: 149, kills: 1999 });
    expect(complaints(sound(few), all)).toHaveLength(2);
  });

  it("complain when what was asked for is nowhere", () => {
    expect(complaints([{ part: "kill", tally: emptyTally(), seconds: 0 }], { kills: 0, whole: false })).toHaveLength(1);
  });
});

describe("a cell of the crash proof", () => {
  const kills = [
    { point: "tool.after", nth: 1 },
    { point: "settle.before", nth: 2 },
  ];

  it.each([
    { cast: ["opaque"], kills: [] },
    { cast: ["verifiable"], kills },
    { cast: ["gated"], kills, power: true },
  ] satisfies Cell[])("is asked for by the name it is reported under: %o", (cell: Cell) => {
    const { cast, power = false } = cell;
    const wanted = { part: power ? "power" : "kill", name: cast[0], places: cell.kills };
    expect(readWanted(nameOf(cell))).toEqual(wanted);
    expect(readArguments(["--only", nameOf(cell)], 7)).toMatchObject({ only: wanted, seed: 7, kills: 2000 });
  });

  it.each(["bogus", "kill:opaque@nowhere", "kill@", "replay:"])("is refused when it does not read: %s", (text) => {
    expect(readArguments(["--only", text], 7)).toHaveProperty("wrong");
  });
});

describe("what is found wrong", () => {
  it("names the story, its run, how its steps stand and what came last", () => {
    const fault = { code: "BUDGET_EXCEEDED", message: "nothing is left" };
    const result = { run_id: "run_7", status: "failed", final: true, steps: { ask: { state: "rejected", fault } } };
    const events = ["run.accepted run_7", "step.rejected ask", "run.ended failed"];
    const driven = { result, ledger: [], notices: [], events } as unknown as Driven;
    const rested = { runs: { metered: driven }, broken: [] };
    const report = { rest: rested, again: rested, deeds: 0, leftovers: [], passed: [] };
    const found = judge({ name: "metered", scenario: scenarios.metered, report, deeds: [], told: [], kills: 3 });
    expect(found).toEqual([
      {
        kind: "untrue",
        what: "metered (run_7): the run is failed; steps: ask rejected (BUDGET_EXCEEDED: nothing is left); last of 3 events: run.accepted run_7, step.rejected ask, run.ended failed",
      },
    ]);
  });

  it("by chance names its seed and where it struck", () => {
    const cell: Cell = {
      cast: ["opaque"],
      kills: [
        { point: "sql", nth: 12 },
        { afterMs: 3.5, early: false },
      ],
    };
    const outcome = { cell, kills: 2, findings: [], report: null, counts: {} };
    expect(shiftName({ seed: 7, number: 1 }, outcome)).toBe("chance:1 of seed 7, killed at sql#12,3.500ms");
  });
});

describe("the states that a taped life can leave", () => {
  const page = (byte: number) => Buffer.alloc(4096, byte);
  const soft: Turn = { writes: [{ file: "wal", at: 0, bytes: page(1) }], synced: false, before: 10, after: 20 };
  const hard: Turn = {
    writes: [
      { file: "wal", at: 4096, bytes: page(2) },
      { file: "wal", at: 8192, bytes: page(3) },
    ],
    synced: true,
    before: 30,
    after: 40,
  };
  const tape = { first: { db: null, wal: null }, begun: 5, turns: [soft, hard] } as unknown as Tape;
  const states = [...prefixesOf(tape, 50)];
  const brief = states.map(({ name, files, seen, power }) => [name, files.wal?.length ?? 0, seen, power]);

  it("are every write, whole and torn, with what the world can have seen by then", () => {
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

  it("are after a power cut behind all that the world saw before the next sync", () => {
    expect(brief.filter(([, , , power]) => power === true)).toEqual([
      ["0 power", 0, 30, true],
      ["1 power", 4096, 30, true],
      ["3 power", 12_288, 50, true],
    ]);
  });
});
