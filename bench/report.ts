import type { Machine } from "./machine.ts";
import type { Goal, Measurement, Round, Traffic } from "./measurement.ts";
import { median } from "./samples.ts";
import { table } from "./table.ts";
import { activities, type TimeSplit } from "./time-split.ts";

export interface Measured {
  readonly measurement: Measurement;
  readonly rounds: readonly Round[];
  readonly traffic?: { readonly engine: Traffic; readonly limit: Traffic };
  readonly split?: TimeSplit;
}

export interface Report {
  readonly machine: Machine;
  readonly date: string;
  readonly measured: readonly Measured[];
}

/** For programs: one stable shape. */
export function asJson(report: Report): string {
  const { machine, date } = report;
  return JSON.stringify({ machine, date, results: resultsOf(report) });
}

export function resultsOf({ measured }: Report) {
  return measured.map(({ measurement: { id, unit }, rounds }) => {
    const middle = (of: keyof Round) => rounded(median(rounds.map((round) => round[of])));
    return { id, value: middle("value"), unit, limit: middle("limit"), ratio: middle("ratio") };
  });
}

/** For people, and for the page in docs: Markdown that also reads well on a terminal. */
export function asText(report: Report): string {
  const { measured } = report;
  const parts = [heading(report), figures(measured), verdict(measured), meanings(measured)];
  if (measured.some(({ traffic }) => traffic !== undefined)) parts.push(traffics(measured));
  if (measured.some(({ split }) => split !== undefined)) parts.push(splits(measured));
  return parts.join("\n\n");
}

export function heading({ machine, date }: Report): string {
  const { cpu, cores, memory_gib, os, node, sqlite, sync_us } = machine;
  const software = `${os}, Node ${node}, SQLite ${sqlite}`;
  return `Measured ${date} on ${cores} × ${cpu}, ${memory_gib} GiB, ${software}; a synced write took ${sync_us} µs.`;
}

function figures(measured: readonly Measured[]): string {
  const head = ["", "engine", "limit", "ratio", "lowest–highest", "rounds", "goal", ""];
  return table(
    head,
    measured.map(({ measurement: { id, unit, goal }, rounds }) => {
      const middle = (of: keyof Round) => median(rounds.map((round) => round[of]));
      const ratios = rounds.map(({ ratio }) => ratio);
      return [
        `\`${id}\``,
        `${rounded(middle("value"))} ${unit}`,
        `${rounded(middle("limit"))}`,
        middle("ratio").toFixed(2),
        `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
        `${rounds.length}`,
        goal === null ? "–" : wanted(goal, unit),
        standing({ measurement: { goal }, rounds }),
      ];
    }),
  );
}

function wanted(goal: Goal, unit: string): string {
  const sign = "atLeast" in goal ? "≥" : "≤";
  const bound = "atLeast" in goal ? goal.atLeast : goal.atMost;
  return goal.of === "ratio" ? `${sign} ${bound.toFixed(2)}` : `${sign} ${bound} ${unit}`;
}

type Standing = "reached" | "not reached" | "–";

function standing({
  measurement: { goal },
  rounds,
}: {
  measurement: Pick<Measurement, "goal">;
  rounds: readonly Round[];
}): Standing {
  if (goal === null) return "–";
  const found = median(rounds.map((round) => round[goal.of]));
  const reached = "atLeast" in goal ? found >= goal.atLeast : found <= goal.atMost;
  return reached ? "reached" : "not reached";
}

function verdict(measured: readonly Measured[]): string {
  const those = (wanted: Standing) => measured.filter((each) => standing(each) === wanted);
  const list = (all: readonly Measured[]) => all.map(({ measurement: { id } }) => `\`${id}\``).join(", ") || "none";
  return `Goals reached: ${list(those("reached"))}. Not reached: ${list(those("not reached"))}.`;
}

function meanings(measured: readonly Measured[]): string {
  return table(
    ["", "what is measured", "what the limit is"],
    measured.map(({ measurement: { id, about, beside } }) => [`\`${id}\``, about, beside]),
  );
}

function traffics(measured: readonly Measured[]): string {
  const line = (name: string, { rows, transactions, syncs, bytes }: Traffic) => [
    name,
    rows.toFixed(2),
    transactions.toFixed(3),
    syncs.toFixed(3),
    bytes.toFixed(0),
  ];
  return table(
    ["per step", "rows", "transactions", "syncs", "bytes in the file"],
    measured.flatMap(({ measurement: { id }, traffic }) =>
      traffic === undefined ? [] : [line(`\`${id}\``, traffic.engine), line("– its limit", traffic.limit)],
    ),
  );
}

function splits(measured: readonly Measured[]): string {
  const percent = (part: number) => `${(100 * part).toFixed(0)} %`;
  return table(
    ["where the time goes", ...activities],
    measured.flatMap(({ measurement: { id }, split }) =>
      split === undefined ? [] : [[`\`${id}\``, ...activities.map((name) => percent(split[name]))]],
    ),
  );
}

/** As many digits as are worth reading. */
export function rounded(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
