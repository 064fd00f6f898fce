import type { Machine } from "./machine.ts";
import { markdownTable } from "./markdown-table.ts";
import type { Measurement, MeasurementGoal, MeasurementRound, WriteTraffic } from "./measurement.ts";
import { median } from "./samples.ts";
import { activities, type TimeSplit } from "./time-split.ts";
import type { WorkCost } from "./work-cost.ts";

export interface Measured extends MeasuredDetails {
  readonly measurement: Measurement;
  readonly rounds: readonly MeasurementRound[];
}

export interface MeasuredDetails {
  /** The first round of a new process. */
  readonly cold?: Pick<MeasurementRound, "value" | "limit" | "ratio">;
  readonly work?: WorkCost;
  readonly traffic?: { readonly engine: WriteTraffic; readonly limit: WriteTraffic };
  readonly split?: TimeSplit;
}

export interface BenchReport {
  readonly machine: Machine;
  readonly date: string;
  readonly measured: readonly Measured[];
}

/** Returns the results as JSON of a stable shape. */
export function benchReportJson(report: BenchReport): string {
  const { machine, date } = report;
  return JSON.stringify({ machine, date, results: benchResults(report) });
}

export function benchResults({ measured }: BenchReport) {
  return measured.map(({ measurement: { id, unit }, rounds }) => {
    const middle = (of: MeasuredFigure) => roundForPrint(median(rounds.map((round) => round[of])));
    const log = middleOfLog(rounds);
    return {
      id,
      value: middle("value"),
      unit,
      limit: middle("limit"),
      ratio: middle("ratio"),
      ...(log && { log_limit: roundForPrint(log.limit), log_ratio: roundForPrint(log.ratio) }),
    };
  });
}

type MeasuredFigure = Exclude<keyof MeasurementRound, "log">;

/** Returns the medians with the events in a log, or null if they were not measured. */
function middleOfLog(rounds: readonly MeasurementRound[]): MeasurementRound["log"] | null {
  const logs = rounds.flatMap(({ log }) => log ?? []);
  if (logs.length === 0) return null;
  return { limit: median(logs.map(({ limit }) => limit)), ratio: median(logs.map(({ ratio }) => ratio)) };
}

/** Returns the results as Markdown, for a terminal and for the page in docs. */
export function benchReportText(report: BenchReport): string {
  const { measured } = report;
  const parts = [benchHeading(report), figureTable(measured), goalSummary(measured), meaningTable(measured)];
  if (measured.some(({ measurement }) => measurement.hasLogLimit === true)) parts.push(logTable(measured));
  if (measured.some(({ traffic }) => traffic !== undefined)) parts.push(trafficTable(measured));
  if (measured.some(({ split }) => split !== undefined)) parts.push(splitTable(measured));
  return parts.join("\n\n");
}

export function benchHeading({ machine, date }: BenchReport): string {
  const { cpu, cores, memory_gib, os, node, sqlite, sync_us } = machine;
  const software = `${os}, Node ${node}, SQLite ${sqlite}`;
  return `Measured ${date} on ${cores} × ${cpu}, ${memory_gib} GiB, ${software}; a synced write took ${sync_us} µs.`;
}

function figureTable(measured: readonly Measured[]): string {
  const head = ["", "engine", "limit", "ratio", "lowest–highest", "rounds", "goal", ""];
  return markdownTable(
    head,
    measured.map(({ measurement: { id, unit, goal }, rounds }) => {
      const middle = (of: MeasuredFigure) => median(rounds.map((round) => round[of]));
      const ratios = rounds.map(({ ratio }) => ratio);
      return [
        `\`${id}\``,
        `${roundForPrint(middle("value"))} ${unit}`,
        `${roundForPrint(middle("limit"))}`,
        middle("ratio").toFixed(2),
        `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
        `${rounds.length}`,
        goal === null ? "–" : formatGoal(goal, unit),
        goalStatus({ measurement: { goal }, rounds }),
      ];
    }),
  );
}

/**
 * Returns the first round of a new process beside the warm rounds, and the work of the runtime, for a terminal. Empty
 * without such details.
 */
export function workReportText({ measured }: BenchReport): string {
  if (measured.every(({ cold, work }) => cold === undefined && work === undefined)) return "";
  return markdownTable(
    ["cold and warm", "cold", "warm", "cold ÷ warm", "KB allocated per step", "promises per step"],
    measured.flatMap(({ measurement: { id, unit }, rounds, cold, work }) => {
      if (cold === undefined && work === undefined) return [];
      const warm = median(rounds.map(({ value }) => value));
      return [
        [
          `\`${id}\``,
          cold === undefined ? "–" : `${roundForPrint(cold.value)} ${unit}`,
          `${roundForPrint(warm)}`,
          cold === undefined ? "–" : (cold.value / warm).toFixed(2),
          work === undefined ? "–" : work.kilobytes.toFixed(1),
          work === undefined ? "–" : work.promises.toFixed(1),
        ],
      ];
    }),
  );
}

/** The limit in the layout that the store has: it is faster than the one that the goals were set for. */
function logTable(measured: readonly Measured[]): string {
  return markdownTable(
    ["with the events in a log", "limit", "ratio"],
    measured.flatMap(({ measurement: { id }, rounds }) => {
      const log = middleOfLog(rounds);
      return log ? [[`\`${id}\``, `${roundForPrint(log.limit)}`, log.ratio.toFixed(2)]] : [];
    }),
  );
}

function formatGoal(goal: MeasurementGoal, unit: string): string {
  const sign = "atLeast" in goal ? "≥" : "≤";
  const bound = "atLeast" in goal ? goal.atLeast : goal.atMost;
  return goal.of === "ratio" ? `${sign} ${bound.toFixed(2)}` : `${sign} ${bound} ${unit}`;
}

type GoalStatus = "reached" | "not reached" | "–";

function goalStatus({
  measurement: { goal },
  rounds,
}: {
  measurement: Pick<Measurement, "goal">;
  rounds: readonly MeasurementRound[];
}): GoalStatus {
  if (goal === null) return "–";
  const found = median(rounds.map((round) => round[goal.of]));
  const reached = "atLeast" in goal ? found >= goal.atLeast : found <= goal.atMost;
  return reached ? "reached" : "not reached";
}

function goalSummary(measured: readonly Measured[]): string {
  const those = (wanted: GoalStatus) => measured.filter((each) => goalStatus(each) === wanted);
  const list = (all: readonly Measured[]) => all.map(({ measurement: { id } }) => `\`${id}\``).join(", ") || "none";
  return `Goals reached: ${list(those("reached"))}. Not reached: ${list(those("not reached"))}.`;
}

function meaningTable(measured: readonly Measured[]): string {
  return markdownTable(
    ["", "what is measured", "what the limit is"],
    measured.map(({ measurement: { id, about, limitAbout } }) => [`\`${id}\``, about, limitAbout]),
  );
}

function trafficTable(measured: readonly Measured[]): string {
  const line = (name: string, { rows, transactions, syncs, bytes }: WriteTraffic) => [
    name,
    rows.toFixed(2),
    transactions.toFixed(3),
    syncs.toFixed(3),
    bytes.toFixed(0),
  ];
  return markdownTable(
    ["per step", "rows", "transactions", "syncs", "bytes in the file"],
    measured.flatMap(({ measurement: { id }, traffic }) =>
      traffic === undefined ? [] : [line(`\`${id}\``, traffic.engine), line("– its limit", traffic.limit)],
    ),
  );
}

function splitTable(measured: readonly Measured[]): string {
  const percent = (part: number) => `${(100 * part).toFixed(0)} %`;
  return markdownTable(
    ["where the time goes", ...activities],
    measured.flatMap(({ measurement: { id }, split }) =>
      split === undefined ? [] : [[`\`${id}\``, ...activities.map((name) => percent(split[name]))]],
    ),
  );
}

/** Rounds to the significant digits. */
export function roundForPrint(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
