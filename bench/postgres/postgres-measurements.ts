import type { Measurement } from "../measurement.ts";
import { postgresScaling } from "../processes/process-scaling.ts";
import type { BenchServer } from "./bench-server.ts";
import { claimSpeed, idleQueries } from "./claim-speed.ts";
import { postgresListTime } from "./postgres-list-time.ts";
import { postgresFlatness, postgresThroughput, serverCost } from "./postgres-throughput.ts";

const sequential = { runs: 200, steps: 10, atOnce: 1, order: "chain", durability: "every" } as const;
const concurrent = { runs: 1000, steps: 10, atOnce: 50, order: "chain", durability: "every" } as const;

/** All measurements on Postgres. The ids are stable, because scripts read them. */
export function postgresMeasurements(server: BenchServer): readonly Measurement[] {
  const reads = { effects: ["reads"] } as const;
  const acts = { effects: ["acts"] } as const;
  const ratio = (atLeast: number) => ({ of: "ratio", atLeast }) as const;
  return [
    postgresThroughput(
      server,
      "W1.reads.postgres",
      "200 runs × 10 reads, sequential",
      { ...sequential, ...reads },
      ratio(0.6),
    ),
    postgresThroughput(server, "W1.acts.postgres", "200 runs × 10 acts, sequential", { ...sequential, ...acts }, null),
    postgresThroughput(
      server,
      "W2.reads.postgres",
      "1000 runs × 10 reads, 50 runs at a time",
      { ...concurrent, ...reads },
      ratio(0.5),
    ),
    postgresThroughput(
      server,
      "W2.acts.postgres",
      "1000 runs × 10 acts, 50 runs at a time",
      { ...concurrent, ...acts },
      ratio(0.5),
    ),
    serverCost(server, "W2.reads.cpu.postgres", "the same reads: processor time of the server per step", {
      ...concurrent,
      ...reads,
    }),
    serverCost(server, "W2.acts.cpu.postgres", "the same acts: processor time of the server per step", {
      ...concurrent,
      ...acts,
    }),
    postgresFlatness(server, "W4.flat.postgres"),
    claimSpeed(server, "claims.postgres"),
    idleQueries(server, "idle.postgres"),
    ...[2, 4, 8].map((processes) => postgresScaling(server, `processes.${processes}.postgres`, processes)),
    postgresListTime(server, "list.runs.100000.postgres", 100_000),
  ];
}
