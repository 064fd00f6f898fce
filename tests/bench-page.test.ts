import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readArguments } from "../bench/arguments.ts";
import type { Measurement } from "../bench/measurement.ts";
import { allMeasurements } from "../bench/measurements.ts";
import { partOf, withPart } from "../bench/page.ts";
import { postgresMeasurements } from "../bench/postgres/measurements.ts";
import type { Place } from "../bench/postgres/place.ts";
import { asText, type Report } from "../bench/report.ts";
import { activities, type TimeSplit } from "../bench/time-split.ts";

const page = readFileSync(join(import.meta.dirname, "..", "docs", "benchmarks.md"), "utf8");
/** The parts of the page that a run of ours writes, and what it measures. */
const ours = { figures: allMeasurements(), postgres: postgresMeasurements({} as Place) };

/** What a run would find if everything were one. */
function madeUp(measurements: readonly Measurement[]): Report {
  const machine = { cpu: "abacus", cores: 1, memory_gib: 1, os: "none", node: "v1", sqlite: "1", sync_us: 1 };
  const each = { rows: 1, transactions: 1, syncs: 1, bytes: 1 };
  const even = Object.fromEntries(activities.map((name) => [name, 1 / activities.length])) as TimeSplit;
  const measured = measurements.map((measurement) => ({
    measurement,
    rounds: [{ value: 1, limit: 1, ratio: 1 }],
    ...(measurement.traffic && { traffic: { engine: each, limit: each } }),
    ...(measurement.split && { split: even }),
  }));
  return { machine, date: "1970-01-01", measured };
}

type Table = readonly (readonly string[])[];

/** The tables of a text, by line and cell. */
function tablesIn(text: string): readonly Table[] {
  const blocks = text.split("\n\n").filter((block) => block.startsWith("|"));
  const cells = (line: string) => line.split("|").slice(1, -1);
  return blocks.map((block) => block.split("\n").map((line) => cells(line).map((cell) => cell.trim())));
}

const column = (table: Table | undefined, at: number) => table?.map((line) => line[at]?.replace(/^-+$/, "---"));
const words = (cells: ReturnType<typeof column>) => cells?.map((cell) => cell?.replace(/^[\d.]+ /, ""));

describe.each(["figures", "postgres"] as const)("docs/benchmarks.md, %s", (part) => {
  const measurements = ours[part];
  const found = tablesIn(partOf(page, part));
  const expected = tablesIn(asText(madeUp(measurements)));

  it("has the tables that the generator makes", () => {
    expect(found.map(([head]) => head)).toEqual(expected.map(([head]) => head));
    expect(found.map((table) => table[0]?.length)).toEqual(expected.map((table) => table[2]?.length));
  });

  it("lists every result, and what lies behind it where there is more to say", () => {
    expect(found.map((table) => column(table, 0))).toEqual(expected.map((table) => column(table, 0)));
    expect(column(found[0], 0)?.slice(2)).toEqual(measurements.map(({ id }) => `\`${id}\``));
  });

  it("says what is measured, in which unit and with which goal, as the bench does", () => {
    const [figures, meanings] = [0, 1];
    expect(words(column(found[figures], 1))).toEqual(words(column(expected[figures], 1)));
    expect(column(found[figures], 6)).toEqual(column(expected[figures], 6));
    for (const at of [1, 2]) expect(column(found[meanings], at)).toEqual(column(expected[meanings], at));
  });

  it("says where and when it was measured, and of every goal whether it was reached", () => {
    const [heading = "", , verdict = ""] = partOf(page, part).split("\n\n");
    expect(heading).toMatch(/^Measured \d{4}-\d\d-\d\d on \d+ × .+ GiB, .+, Node v.+, SQLite .+ took \d+ µs\.$/);
    const [, reached = "", missed = ""] = /^Goals reached: (.+)\. Not reached: (.+)\.$/.exec(verdict) ?? [];
    const lines = found[0]?.slice(2) ?? [];
    const those = (standing: string) => lines.filter((line) => line[7] === standing).map(([id]) => id);
    expect(reached).toBe(those("reached").join(", ") || "none");
    expect(missed).toBe(those("not reached").join(", ") || "none");
    expect(lines.filter((line) => line[7] === "–").map(([id]) => id)).toEqual(
      measurements.filter(({ goal }) => goal === null).map(({ id }) => `\`${id}\``),
    );
  });
});

describe("docs/benchmarks.md", () => {
  it.each(["figures", "postgres", "peers"] as const)("keeps its prose when the %s are written anew", (part) => {
    expect(withPart(page, part, partOf(page, part))).toBe(page);
    const anew = withPart(page, part, "nothing");
    expect(partOf(anew, part)).toBe("nothing");
    expect(withPart(anew, part, partOf(page, part))).toBe(page);
  });

  it("is not written where it has no place for them", () => {
    expect(() => withPart("# Benchmarks\n", "figures", "nothing")).toThrow("no place for figures");
  });
});

describe("the command line of the bench", () => {
  const read = (...args: readonly string[]) => readArguments(args, ["W1", "W2"]);

  it("measures everything in enough rounds, unless told otherwise", () => {
    expect(read()).toEqual({ json: false, only: null, store: "sqlite", rounds: 7, peers: null, write: false });
    expect(read("--json", "--only", "W2", "--rounds", "2")).toMatchObject({ json: true, only: "W2", rounds: 2 });
    expect(read("--peers", "--from", "elsewhere")).toMatchObject({ peers: { from: "elsewhere" } });
  });

  it.each([
    [["--only", "W3"], "there are W1, W2"],
    [["--rounds", "half"], "not a whole number"],
    [["--rounds", "0"], "not a whole number"],
    [["--write", "--only", "W1"], "every result"],
    [["--from", "elsewhere"], "--peers"],
    [["--store", "elsewhere"], "neither sqlite nor postgres"],
    [["--store", "postgres", "--peers"], "--peers"],
    [["--fast"], "--fast"],
  ])("says what is wrong with %j", (args, what) => {
    expect(read(...args)).toEqual({ wrong: expect.stringContaining(what) });
  });
});
