import { auditSpeed } from "./audit-speed.ts";
import { coldReadTime } from "./cold-read-time.ts";
import { commandTime } from "./command-time.ts";
import { handleTime, memoryRollback, scanTime } from "./filesystem-times.ts";
import { guardChain } from "./guard-chain.ts";
import { historyFiles, historyOpen, historyStep } from "./history-cost.ts";
import { listTime } from "./list-time.ts";
import { runBytes, runFlatness } from "./long-run.ts";
import type { Measurement } from "./measurement.ts";
import { memoryUse } from "./memory-use.ts";
import { openRunFlatness, openRunSpeed } from "./open-run-speed.ts";
import { checkTime, graphSpeed, planMakespan } from "./plan-speed.ts";
import { storeWithEndedRuns } from "./prepared-store.ts";
import { resumeTime, sessionResumeTime } from "./resume-time.ts";
import { snapshotTime } from "./snapshot-times.ts";
import { sqliteThroughput } from "./sqlite-throughput.ts";
import { startUpTime } from "./start-up-time.ts";
import { transactionTime } from "./transaction-time.ts";
import type { Workload } from "./workload.ts";

const sequential = { runs: 200, steps: 10, atOnce: 1, order: "chain", durability: "every" } as const;
const concurrent = { runs: 1000, steps: 10, atOnce: 50, order: "chain", durability: "every" } as const;
const parallelSteps = { runs: 5, steps: 1000, atOnce: 1, order: "parallel", durability: "every" } as const;
const mixedEffects = ["reads", "pure", "reads", "acts", "reads"] as const;
const endedRuns: Workload = {
  effects: mixedEffects,
  runs: 500,
  steps: 10,
  atOnce: 50,
  order: "chain",
  durability: "process",
};

const largeSnapshot = { entries: 100_000, files: 10_000 };
const smallSnapshot = { entries: 1000, files: 1000 };

/** All measurements on SQLite. The ids are stable, because scripts read them. */
export function sqliteMeasurements(): readonly Measurement[] {
  const store = storeWithEndedRuns(endedRuns);
  const files = historyFiles();
  return [
    ...commonMeasurements(),
    ...workloadMeasurements(),
    openRunFlatness("open.flat.sqlite"),
    sessionResumeTime("open.resume.sqlite", 1000, 5),
    listTime("list.runs.100000.sqlite", 100_000),
    planMakespan("dag.makespan"),
    graphSpeed("dag.10000.memory"),
    checkTime("check.1000"),
    guardChain("guards.100"),
    auditSpeed("audit.sqlite", store),
    memoryUse("rss.sqlite"),
    startUpTime("startup.sqlite", store),
    coldReadTime("read.cold.sqlite", 400, 50),
    historyStep("history.step.sqlite", files),
    historyOpen("history.open.sqlite", files),
    commandTime("cli.version", "`writ --version`", ["--version"]),
    commandTime("cli.run.sqlite", "`writ run` of a plan of one step on a new store", ["run", "plan.json"]),
    transactionTime("tx.noop.10", 10),
    transactionTime("tx.noop.1000000", 1_000_000),
    memoryRollback("fs.memory.rollback.100000", 100_000),
    handleTime("fs.host.capture.50000", "capture", 50_000),
    handleTime("fs.host.restore.50000", "restore", 50_000),
    scanTime("fs.host.walk.snapshot.10000", "snapshot", 10_000),
    scanTime("fs.host.walk.restore.10000", "restore", 10_000),
    snapshotTime("snapshot.take", "take", largeSnapshot, smallSnapshot),
    snapshotTime("snapshot.restore", "restore", largeSnapshot, smallSnapshot),
  ];
}

/** The work of most users: durability `power` with a mix of effects, single calls, and open runs. */
function commonMeasurements(): readonly Measurement[] {
  return [
    sqliteThroughput(
      "mixed.power.sqlite",
      "200 runs × 10 steps, one act in five steps, durability `power`",
      { ...sequential, effects: mixedEffects, durability: "power" },
      ratioAtLeast(0.55),
    ),
    sqliteThroughput(
      "mixed.power.50.sqlite",
      "1000 runs × 10 steps, one act in five steps, durability `power`, 50 runs at a time",
      { ...concurrent, effects: mixedEffects, durability: "power" },
      null,
    ),
    sqliteThroughput(
      "engine.call.sqlite",
      "500 acts, each by `engine.call`, sequential, durability `power`",
      { ...sequential, effects: ["acts"], runs: 500, steps: 1, durability: "power", calls: true },
      null,
    ),
    openRunSpeed("open.reads.sqlite", "reads"),
    openRunSpeed("open.acts.sqlite", "acts"),
  ];
}

function workloadMeasurements(): readonly Measurement[] {
  return [
    sqliteThroughput(
      "W1.reads.sqlite",
      "200 runs × 10 reads, sequential",
      { ...sequential, effects: ["reads"] },
      ratioAtLeast(0.6),
    ),
    sqliteThroughput(
      "W1.acts.sqlite",
      "200 runs × 10 acts, sequential",
      { ...sequential, effects: ["acts"] },
      ratioAtLeast(0.6),
    ),
    sqliteThroughput(
      "W2.reads.sqlite",
      "1000 runs × 10 reads, 50 runs at a time",
      { ...concurrent, effects: ["reads"] },
      ratioAtLeast(0.5),
    ),
    sqliteThroughput(
      "W2.acts.sqlite",
      "1000 runs × 10 acts, 50 runs at a time",
      { ...concurrent, effects: ["acts"] },
      ratioAtLeast(0.5),
    ),
    resumeTime("W3.1000.sqlite", 1000, 9),
    resumeTime("W3.10000.sqlite", 10_000, 3),
    runFlatness("W4.flat.sqlite"),
    runBytes("W4.bytes.sqlite"),
    sqliteThroughput(
      "W5.reads.sqlite",
      "5 runs × 1000 independent reads: from all ready to the last on disk",
      { ...parallelSteps, effects: ["reads"] },
      ratioAtLeast(0.5),
    ),
    sqliteThroughput(
      "intent.sqlite",
      "200 runs × 10 intents on one project, sequential: each reads an entry of its state and writes it",
      { ...sequential, effects: ["writes"] },
      ratioAtLeast(0.5),
    ),
    sqliteThroughput(
      "intent.call.sqlite",
      "500 intents on one project, sequential, each in its own run, durability `power`",
      { ...sequential, effects: ["writes"], runs: 500, steps: 1, durability: "power" },
      ratioAtLeast(0.4),
    ),
  ];
}

function ratioAtLeast(atLeast: number): { readonly of: "ratio"; readonly atLeast: number } {
  return { of: "ratio", atLeast };
}
