import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseBenchArguments } from "../../bench/bench-arguments.ts";
import { type BenchReport, benchReportText, workReportText } from "../../bench/bench-report.ts";
import { consoleMeasurements } from "../../bench/console/console-measurements.ts";
import type { Measurement } from "../../bench/measurement.ts";
import type { BenchServer } from "../../bench/postgres/bench-server.ts";
import { postgresMeasurements } from "../../bench/postgres/postgres-measurements.ts";
import { processMeasurements } from "../../bench/processes/process-measurements.ts";
import { readPagePart, replacePagePart } from "../../bench/results-page.ts";
import { sqliteMeasurements } from "../../bench/sqlite-measurements.ts";
import { surfaceMeasurements } from "../../bench/surfaces/surface-measurements.ts";
import { activities, type TimeSplit } from "../../bench/time-split.ts";
import { warmUp } from "../../bench/warm-up.ts";
import { measureWork } from "../../bench/work-cost.ts";
import { repositoryPath } from "./repository-path.ts";

const page = readFileSync(repositoryPath("docs", "benchmarks.md"), "utf8");
/** The parts of the page that the bench writes, and the measurements in each. */
const ours = {
  figures: sqliteMeasurements(),
  processes: processMeasurements(),
  surfaces: surfaceMeasurements(),
  console: consoleMeasurements(),
  postgres: postgresMeasurements({} as BenchServer),
};

/** A report in which every value is 1. */
function madeUp(measurements: readonly Measurement[]): BenchReport {
  const machine = { cpu: "abacus", cores: 1, memory_gib: 1, os: "none", node: "v1", sqlite: "1", sync_us: 1 };
  const each = { rows: 1, transactions: 1, syncs: 1, bytes: 1 };
  const even = Object.fromEntries(activities.map((name) => [name, 1 / activities.length])) as TimeSplit;
  const measured = measurements.map((measurement) => ({
    measurement,
    rounds: [{ value: 1, limit: 1, ratio: 1, ...(measurement.hasLogLimit && { log: { limit: 1, ratio: 1 } }) }],
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

describe.each(["figures", "processes", "surfaces", "console", "postgres"] as const)(
  "docs/benchmarks.md, %s",
  (part) => {
    const measurements = ours[part];
    const found = tablesIn(readPagePart(page, part));
    const expected = tablesIn(benchReportText(madeUp(measurements)));

    it("has the tables that the generator writes", () => {
      expect(found.map(([head]) => head)).toEqual(expected.map(([head]) => head));
      expect(found.map((table) => table[0]?.length)).toEqual(expected.map((table) => table[2]?.length));
    });

    it("lists every result with its remarks", () => {
      expect(found.map((table) => column(table, 0))).toEqual(expected.map((table) => column(table, 0)));
      expect(column(found[0], 0)?.slice(2)).toEqual(measurements.map(({ id }) => `\`${id}\``));
    });

    it("states what is measured, the unit and the goal as the bench does", () => {
      const [figures, meanings] = [0, 1];
      expect(words(column(found[figures], 1))).toEqual(words(column(expected[figures], 1)));
      expect(column(found[figures], 6)).toEqual(column(expected[figures], 6));
      for (const at of [1, 2]) expect(column(found[meanings], at)).toEqual(column(expected[meanings], at));
    });

    it("states machine, date and for every goal whether it is reached", () => {
      const [heading = "", , verdict = ""] = readPagePart(page, part).split("\n\n");
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
  },
);

/** A measurement with these values, round by round; the last one is repeated. */
function scripted(values: readonly number[]) {
  let rounds = 0;
  const round = async () => {
    const value = values[Math.min(rounds, values.length - 1)] as number;
    rounds += 1;
    return { value, limit: 1, ratio: value };
  };
  return { measurement: { round }, rounds: () => rounds };
}

describe("the warm-up of a measurement", () => {
  it.each([
    [[100, 101], 2],
    [[100, 150, 190, 192], 4],
    [[100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600], 8],
  ])("of %j takes %i rounds: until two rounds in a row are alike, or a limit", async (values, expected) => {
    const { measurement, rounds } = scripted(values);
    expect(await warmUp(measurement)).toBe(expected);
    expect(rounds()).toBe(expected);
  });

  it("is left out for a measurement of one round", async () => {
    const { measurement, rounds } = scripted([1]);
    expect(await warmUp({ ...measurement, maxRounds: 1 })).toBe(0);
    expect(rounds()).toBe(0);
  });
});

describe("the report of cold and warm rounds", () => {
  it("has a line for each measurement with details", () => {
    const [first, second] = ours.figures as [Measurement, Measurement];
    const rounds = [{ value: 200, limit: 400, ratio: 0.5 }];
    const cold = { value: 100, limit: 300, ratio: 1 / 3 };
    const measured = [
      { measurement: first, rounds, cold, work: { kilobytes: 22.34, promises: 7 } },
      { measurement: second, rounds },
    ];
    const [table] = tablesIn(workReportText({ ...madeUp([]), measured }));
    expect(table?.slice(2)).toEqual([[`\`${first.id}\``, "100 steps/s", "200", "0.50", "22.3", "7.0"]]);
    expect(workReportText(madeUp([first]))).toBe("");
  });

  it("counts the promises and estimates the allocated bytes of a work", async () => {
    const kept: unknown[] = [];
    const { kilobytes, promises } = await measureWork(100, async () => {
      for (let step = 0; step < 100; step += 1) {
        kept.push(Array.from({ length: 1280 }, (_, at) => at + 0.5));
        await null;
      }
    });
    // 1280 numbers of 8 bytes are 10 KB; a list that grows allocates more.
    expect(kilobytes).toBeGreaterThan(9);
    expect(kilobytes).toBeLessThan(60);
    expect(promises).toBeGreaterThan(0.9);
    expect(promises).toBeLessThan(4);
  });
});

describe("docs/benchmarks.md", () => {
  it.each(["figures", "processes", "surfaces", "console", "postgres", "peers"] as const)(
    "keeps its prose when the %s are written again",
    (part) => {
      expect(replacePagePart(page, part, readPagePart(page, part))).toBe(page);
      const anew = replacePagePart(page, part, "nothing");
      expect(readPagePart(anew, part)).toBe("nothing");
      expect(replacePagePart(anew, part, readPagePart(page, part))).toBe(page);
    },
  );

  it("is not written when it lacks the markers", () => {
    expect(() => replacePagePart("# Benchmarks\n", "figures", "nothing")).toThrow("no part figures");
  });
});

describe("bench command line", () => {
  const read = (...args: readonly string[]) => parseBenchArguments(args, ["W1", "W2"]);

  it("runs every measurement with the default number of rounds", () => {
    expect(read()).toEqual({
      json: false,
      only: null,
      store: "sqlite",
      rounds: 7,
      cold: false,
      processes: false,
      surfaces: false,
      console: false,
      peers: null,
      write: false,
    });
    expect(read("--json", "--only", "W2", "--rounds", "2")).toMatchObject({ json: true, only: "W2", rounds: 2 });
    expect(read("--only", "W1", "--cold")).toMatchObject({ only: "W1", cold: true });
    expect(read("--processes")).toMatchObject({ processes: true });
    expect(read("--peers", "--from", "elsewhere")).toMatchObject({ peers: { from: "elsewhere" } });
  });

  it.each([
    [["--only", "W3"], "the results are W1, W2"],
    [["--rounds", "half"], "not a whole number"],
    [["--rounds", "0"], "not a whole number"],
    [["--write", "--only", "W1"], "every result"],
    [["--cold"], "--only"],
    [["--from", "elsewhere"], "--peers"],
    [["--store", "elsewhere"], "neither sqlite nor postgres"],
    [["--store", "postgres", "--peers"], "--peers"],
    [["--store", "postgres", "--processes"], "--processes"],
    [["--peers", "--processes"], "--processes"],
    [["--console", "--surfaces"], "--surfaces"],
    [["--fast"], "--fast"],
  ])("reports what is wrong with %j", (args, what) => {
    expect(read(...args)).toEqual({ wrong: expect.stringContaining(what) });
  });
});
