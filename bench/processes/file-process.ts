import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Store } from "../../src/core/store/store.ts";
import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { connectSqlite } from "../../src/store/sqlite/sqlite-driver.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { openBenchEngine, openWorkloadEngine, runWorkload, type Workload } from "../workload.ts";
import { benchCall } from "./bench-call.ts";
import { machineTime, type ProcessReport, type ProcessRole } from "./process-role.ts";

/** One of the processes of a measured store. It exits when its standard input closes. */
const role = JSON.parse(process.argv[2] ?? "{}") as ProcessRole;

const input = createInterface({ input: process.stdin });
input.on("close", () => process.exit(0));

function report(line: ProcessReport): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Reports each claim of a run. */
function reportClaims(store: Store): Store {
  return {
    ...store,
    claimDue: async (...args) => {
      const claims = await store.claimDue(...args);
      const at = machineTime();
      for (const { run } of claims) report({ type: "claimed", run, at });
      return claims;
    },
  };
}

/** Executes runs of a tool that returns at once, or, if its input says so, never. */
async function work(file: string): Promise<void> {
  await openBenchEngine(reportClaims(await sqlite(file)), "power", [benchCall]);
  report({ type: "ready" });
}

/** Runs a workload without end. Reports how many runs ended between `warmMs` and `warmMs + measuredMs`. */
async function load(role: Extract<ProcessRole, { do: "load" }>): Promise<void> {
  const { store, warmRuns, warmMs, measuredMs, workload } = role;
  const opened = store.startsWith("postgres:") ? await postgres(store) : await sqlite(store);
  const engine = await openWorkloadEngine(workload, opened);
  await runWorkload(engine, { ...workload, runs: warmRuns });
  report({ type: "ready" });
  await new Promise((resolve) => input.once("line", resolve));
  const started = performance.now();
  let ended = 0;
  const one: Workload = { ...workload, runs: 1, atOnce: 1 };
  const runEndlessly = async (): Promise<void> => {
    for (;;) {
      await runWorkload(engine, one);
      const ms = performance.now() - started;
      if (ms >= warmMs && ms < warmMs + measuredMs) ended += 1;
    }
  };
  for (let count = 0; count < workload.atOnce; count += 1) void runEndlessly();
  await new Promise((resolve) => setTimeout(resolve, warmMs + measuredMs));
  report({ type: "ended", runs: ended });
}

/** Runs a workload, and reports the longest time for which the event loop did not turn. */
async function watchLoop({ file, measuredMs, workload }: Extract<ProcessRole, { do: "watch loop" }>): Promise<void> {
  const engine = await openWorkloadEngine(workload, await sqlite(file));
  // Compiles the code, so that this does not count.
  await runWorkload(engine, { ...workload, runs: 2_000, atOnce: 20 });
  report({ type: "ready" });
  await new Promise((resolve) => input.once("line", resolve));
  let longest = 0;
  let last = { at: performance.now(), queued: queuedMs() };
  const until = last.at + measuredMs;
  const turn = (): void => {
    const now = { at: performance.now(), queued: queuedMs() };
    longest = Math.max(longest, now.at - last.at - (now.queued - last.queued));
    last = now;
    setImmediate(turn);
  };
  turn();
  while (performance.now() < until) await runWorkload(engine, { ...workload, runs: 1, atOnce: 1 });
  report({ type: "gaps", longest });
}

/** Returns for how long this process could have run, but waited for a processor; on Linux, else 0. */
function queuedMs(): number {
  if (!existsSync("/proc/self/schedstat")) return 0;
  return Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[1]) / 1e6;
}

/** Holds the write lock of the file for most of the time. */
function holdWrites(file: string, heldMs: number, pauseMs: number): void {
  const db = connectSqlite(file);
  db.exec("pragma busy_timeout = 5000");
  report({ type: "ready" });
  const hold = (): void => {
    db.exec("begin immediate");
    setTimeout(() => {
      db.exec("commit");
      setTimeout(hold, pauseMs);
    }, heldMs);
  };
  hold();
}

switch (role.do) {
  case "work":
    await work(role.file);
    break;
  case "load":
    await load(role);
    break;
  case "watch loop":
    await watchLoop(role);
    break;
  case "hold writes":
    holdWrites(role.file, role.heldMs, role.pauseMs);
    break;
}
