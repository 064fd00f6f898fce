import { auditSpeed } from "./audit.ts";
import { handleTime, memoryRollback, walkTime } from "./files.ts";
import { guardChain } from "./guards.ts";
import { allDone } from "./left-store.ts";
import { flatness, weight } from "./long-run.ts";
import type { Measurement } from "./measurement.ts";
import { memory } from "./memory.ts";
import { commandTime } from "./processes.ts";
import { resume } from "./resume.ts";
import { startUp } from "./start-up.ts";
import { throughput } from "./throughput.ts";
import { transactionTime } from "./transaction.ts";
import type { Workload } from "./workload.ts";

const oneByOne = { runs: 200, steps: 10, atOnce: 1, order: "chain", durability: "every" } as const;
const together = { runs: 1000, steps: 10, atOnce: 50, order: "chain", durability: "every" } as const;
const fanned = { runs: 5, steps: 1000, atOnce: 1, order: "parallel", durability: "every" } as const;
const mixed = ["reads", "pure", "reads", "acts", "reads"] as const;
const ended: Workload = { effects: mixed, runs: 500, steps: 10, atOnce: 50, order: "chain", durability: "process" };

/** Everything that is measured. Ids stay what they are: others read them. */
export function allMeasurements(): readonly Measurement[] {
  const store = allDone(ended);
  return [
    throughput(
      "W1.reads.sqlite",
      "200 runs × 10 reads, one after the other",
      { ...oneByOne, effects: ["reads"] },
      least(0.6),
    ),
    throughput(
      "W1.acts.sqlite",
      "200 runs × 10 acts, one after the other",
      { ...oneByOne, effects: ["acts"] },
      least(0.6),
    ),
    throughput(
      "W2.reads.sqlite",
      "1000 runs × 10 reads, 50 runs at a time",
      { ...together, effects: ["reads"] },
      least(0.5),
    ),
    throughput(
      "W2.acts.sqlite",
      "1000 runs × 10 acts, 50 runs at a time",
      { ...together, effects: ["acts"] },
      least(0.5),
    ),
    resume("W3.1000.sqlite", 1000, 9),
    resume("W3.10000.sqlite", 10_000, 3),
    flatness("W4.flat.sqlite"),
    weight("W4.bytes.sqlite"),
    throughput(
      "W5.reads.sqlite",
      "5 runs × 1000 reads that wait for nothing: from all ready to the last on disk",
      { ...fanned, effects: ["reads"] },
      least(0.5),
    ),
    throughput(
      "mixed.power.sqlite",
      "200 runs × 10 steps, an act among four others, durability `power`",
      { ...oneByOne, effects: mixed, durability: "power" },
      null,
    ),
    throughput(
      "intent.sqlite",
      "200 runs × 10 intents on one project, one after the other: each reads an entry of its state and writes it anew",
      { ...oneByOne, effects: ["writes"] },
      least(0.5),
    ),
    throughput(
      "intent.call.sqlite",
      "500 intents on one project, one after the other, each a run of its own, durability `power`",
      { ...oneByOne, effects: ["writes"], runs: 500, steps: 1, durability: "power" },
      null,
    ),
    guardChain("guards.100"),
    auditSpeed("audit.sqlite", store),
    memory("rss.sqlite"),
    startUp("startup.sqlite", store),
    commandTime("cli.version", "`writ --version`", ["--version"]),
    commandTime("cli.run.sqlite", "`writ run` of a plan of one step on a new store", ["run", "plan.json"]),
    transactionTime("tx.noop.10", 10),
    transactionTime("tx.noop.1000000", 1_000_000),
    memoryRollback("fs.memory.rollback.100000", 100_000),
    handleTime("fs.host.capture.50000", "capture", 50_000),
    handleTime("fs.host.restore.50000", "restore", 50_000),
    walkTime("fs.host.walk.snapshot.10000", "snapshot", 10_000),
    walkTime("fs.host.walk.restore.10000", "restore", 10_000),
  ];
}

function least(atLeast: number): { readonly of: "ratio"; readonly atLeast: number } {
  return { of: "ratio", atLeast };
}
