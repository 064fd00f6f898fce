import type { Measurement } from "../measurement.ts";
import { claiming, idling } from "./claims.ts";
import type { Place } from "./place.ts";
import { flatness, serverCost, throughput } from "./throughput.ts";

const oneByOne = { runs: 200, steps: 10, atOnce: 1, order: "chain", durability: "every" } as const;
const together = { runs: 1000, steps: 10, atOnce: 50, order: "chain", durability: "every" } as const;

/** The same work as on SQLite, and what only many workers do. Ids stay what they are: others read them. */
export function postgresMeasurements(place: Place): readonly Measurement[] {
  const reads = { effects: ["reads"] } as const;
  const acts = { effects: ["acts"] } as const;
  const ratio = (atLeast: number) => ({ of: "ratio", atLeast }) as const;
  return [
    throughput(
      place,
      "W1.reads.postgres",
      "200 runs × 10 reads, one after the other",
      { ...oneByOne, ...reads },
      ratio(0.6),
    ),
    throughput(place, "W1.acts.postgres", "200 runs × 10 acts, one after the other", { ...oneByOne, ...acts }, null),
    throughput(
      place,
      "W2.reads.postgres",
      "1000 runs × 10 reads, 50 runs at a time",
      { ...together, ...reads },
      ratio(0.5),
    ),
    throughput(
      place,
      "W2.acts.postgres",
      "1000 runs × 10 acts, 50 runs at a time",
      { ...together, ...acts },
      ratio(0.5),
    ),
    serverCost(place, "W2.reads.cpu.postgres", "the same reads: what the server computes for a step", {
      ...together,
      ...reads,
    }),
    serverCost(place, "W2.acts.cpu.postgres", "the same acts: what the server computes for a step", {
      ...together,
      ...acts,
    }),
    flatness(place, "W4.flat.postgres"),
    claiming(place, "claims.postgres"),
    idling(place, "idle.postgres"),
  ];
}
