import type { Entry, Store } from "../src/core/store/store.ts";
import type { RunRow } from "../src/core/store/tables.ts";
import type { Instant, RunId, Tenant } from "../src/core/values/ids.ts";
import type { Engine } from "../src/engine/api/engine-api.ts";
import type { RunListOptions } from "../src/engine/api/list-api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { idPrefix } from "../src/engine/ports/system-ports.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import type { Measurement, MeasurementRound } from "./measurement.ts";
import { median } from "./samples.ts";
import { withScratchFile } from "./scratch-file.ts";

const tenant = "bench" as Tenant;
const principal = { id: "ana", kind: "person", tenant } as const;
const start = Date.UTC(2026, 0, 1);

/** The filters whose first page is measured: each filter by itself, and pairs with common and with rare values. */
export const listFilters: readonly Omit<RunListOptions, "principal">[] = [
  {},
  { status: "waiting" },
  { status: "completed" },
  { status: "failed" },
  { project: "p3" },
  { session: "s77" },
  { agent: "support" },
  { tool: "mail.send" },
  { label: "urgent" },
  { parent: parentOf(0) },
  { by: "u5" },
  { waitingFor: "approval" },
  { from: start + 20_000_000, to: start + 40_000_000 },
  { project: "p3", status: "waiting" },
  { project: "p3", status: "completed", tool: "mail.send" },
  { agent: "support", label: "urgent" },
  { label: "urgent", status: "cancelled" },
  { project: "p1", by: "u2" },
  { status: "waiting", from: start + 20_000_000, to: start + 40_000_000 },
];

function runId(number: number): RunId {
  return `${idPrefix("run", (start + number * 1000) as Instant)}${String(number).padStart(16, "0")}` as RunId;
}

function parentOf(number: number): RunId {
  return runId(number - (number % 100));
}

/** Rows of runs as an engine writes them, with values of different frequencies. */
function runRow(number: number): RunRow {
  const status = number % 20 === 0 ? "waiting" : number % 7 === 0 ? "failed" : "completed";
  return {
    run_id: runId(number),
    origin: runId(number),
    status,
    final: status !== "waiting",
    mode: "human_gated",
    principal: `u${number % 10}`,
    plan_id: null,
    accepted_at: (start + number * 1000) as Instant,
    ended_at: status === "waiting" ? null : ((start + number * 1000 + 500) as Instant),
    project: `p${number % 5}`,
    session: `s${number % 1000}`,
    ...(number % 3 === 0 && { agent: "support" }),
    ...(number % 100 !== 0 && number % 10 === 0 && { parent: parentOf(number) }),
    title: `Ticket ${number}`,
    ...(number % 50 === 0 && { labels: ["urgent", `batch-${number % 500}`] }),
    tools: number % 2 === 0 ? ["mail.send", "page.read"] : ["page.read"],
    ...(status === "waiting" && { waiting_for: ["approval"] as const }),
    updated_at: (start + number * 1000 + 500) as Instant,
    steps: 4,
    succeeded: 4,
    done: 4,
  };
}

/** Writes the rows of this many runs. */
export async function fillWithRuns(store: Store, runs: number): Promise<void> {
  for (let first = 0; first < runs; first += 500)
    await store.append(Array.from({ length: Math.min(500, runs - first) }, (_, at) => toEntry(first + at)));
}

function toEntry(number: number): Entry {
  const run = runId(number);
  const at = (start + number * 1000) as Instant;
  const event = { position: 1, type: "run.accepted", v: 1, at, body: "{}", hash: new Uint8Array(32) };
  const row = JSON.stringify(runRow(number));
  const expect = { position: 0, epoch: null };
  const puts = [{ table: "run", key: run, was: "any", row }] as const;
  return { tenant, run, expect, events: [event], puts, charges: [], checks: [], flush: "soft" };
}

/** Returns the median time of the first page of the slowest filter, beside the rows of a page read by their keys. */
export async function timeLists(store: Store): Promise<MeasurementRound> {
  const engine = await createEngine({ store, work: false });
  const times: number[] = [];
  for (const filter of listFilters) times.push(await medianTime(() => firstPage(engine, filter)));
  const keys = (await firstPage(engine, {})).map(({ run_id }) => run_id);
  const limit = await medianTime(async () => {
    for (const key of keys) await store.row(tenant, "run", key);
  });
  const value = Math.max(...times);
  return { value, limit, ratio: value / limit };
}

function firstPage(engine: Engine, filter: Omit<RunListOptions, "principal">) {
  return engine.runs({ principal, ...filter });
}

async function medianTime(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < 21; count += 1) {
    const before = performance.now();
    await work();
    times.push(performance.now() - before);
  }
  return median(times);
}

/** Measures the first page of lists of runs on SQLite. */
export function listTime(id: string, runs: number): Measurement {
  return {
    id,
    about: `first page of ${runs} runs, the slowest of ${listFilters.length} filters`,
    limitAbout: "reading the 50 rows of a page by their keys",
    unit: "ms",
    goal: { of: "value", atMost: 10 },
    maxRounds: 1,
    round: () =>
      withScratchFile(async (file) => {
        const store = openSqlite(file);
        await fillWithRuns(store, runs);
        const round = await timeLists(store);
        await store.close();
        return round;
      }),
  };
}
