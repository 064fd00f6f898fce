import type { Machine } from "./machine.ts";
import type { Detail, Measurement, Round, Traffic } from "./measurement.ts";
import { median } from "./samples.ts";

export interface Measured {
  readonly measurement: Measurement;
  readonly rounds: readonly Round[];
  readonly detail: Detail | null;
}

export interface Report {
  readonly machine: Machine;
  readonly date: string;
  readonly measured: readonly Measured[];
}

/** For programs: one stable shape. */
export function asJson({ machine, date, measured }: Report): string {
  const results = measured.map(({ measurement: { id, unit }, rounds }) => {
    const middle = (of: keyof Round) => rounded(median(rounds.map((round) => round[of])));
    return { id, value: middle("value"), unit, limit: middle("limit"), ratio: middle("ratio") };
  });
  return JSON.stringify({ machine, date, results });
}

/** For people, and for the page in docs: Markdown that also reads well on a terminal. */
export function asText({ machine, date, measured }: Report): string {
  const { cpu, cores, memory_gib, os, node, sqlite, sync_us } = machine;
  const where = `${date}: ${cores} × ${cpu}, ${memory_gib} GiB, ${os}, Node ${node}, SQLite ${sqlite}; a synced write takes ${sync_us} µs.`;
  const rounds = Math.max(...measured.map((each) => each.rounds.length));
  const figures = table(
    ["", "engine", "limit", "ratio", "lowest–highest", "goal", ""],
    measured.map((each) => figure(each)),
  );
  const details = measured.flatMap(({ measurement, detail }) =>
    detail === null ? [] : [{ id: measurement.id, detail }],
  );
  const traffic = table(
    ["per step", "rows", "transactions", "syncs", "bytes in the file"],
    details.flatMap(({ id, detail }) => [trafficOf(id, detail.engine), trafficOf("– its limit", detail.limit)]),
  );
  const parts = Object.keys(details[0]?.detail.split ?? {});
  const split = table(
    ["time", ...parts],
    details.map(({ id, detail }) => [id, ...parts.map((part) => percent(detail.split[part] ?? 0))]),
  );
  const heading = `${where}\nMedians of ${rounds} interleaved rounds.`;
  return [heading, figures, ...(details.length > 0 ? [traffic, split] : [])].join("\n\n");
}

function figure({ measurement: { id, unit, goal }, rounds }: Measured): readonly string[] {
  const middle = (of: keyof Round) => median(rounds.map((round) => round[of]));
  const ratios = rounds.map(({ ratio }) => ratio);
  const wanted = "atLeast" in goal ? `≥ ${goal.atLeast.toFixed(2)}` : `≤ ${goal.atMost.toFixed(2)}`;
  const ratio = middle("ratio");
  const reached = "atLeast" in goal ? ratio >= goal.atLeast : ratio <= goal.atMost;
  const range = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
  const value = `${rounded(middle("value"))} ${unit}`;
  return [
    id,
    value,
    `${rounded(middle("limit"))}`,
    ratio.toFixed(2),
    range,
    wanted,
    reached ? "reached" : "not reached",
  ];
}

function trafficOf(name: string, { rows, transactions, syncs, bytes }: Traffic): readonly string[] {
  return [name, rows.toFixed(2), transactions.toFixed(3), syncs.toFixed(3), bytes.toFixed(0)];
}

function percent(part: number): string {
  return `${(100 * part).toFixed(0)} %`;
}

/** As many digits as are worth reading. */
function rounded(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const width = head.map((title, at) => Math.max(3, title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(width[at] ?? 0)).join(" | ")} |`;
  return [line(head), `|${width.map((size) => "-".repeat(size + 2)).join("|")}|`, ...rows.map(line)].join("\n");
}
