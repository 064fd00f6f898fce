import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { type Measurement, rateSideBySide } from "../measurement.ts";
import { scratch, withScratch } from "../scratch.ts";
import { timed } from "../timed.ts";
import { openEngine, work } from "../workload.ts";
import { type Contestant, type Peer, stepsPerRun } from "./contestant.ts";
import { dbos } from "./dbos.ts";
import { langgraph } from "./langgraph.ts";

const runs = 50;

/** Who takes part in a comparison, and who does not and why. */
export interface LineUp {
  readonly measurements: readonly Measurement[];
  readonly absent: readonly { readonly id: string; readonly why: string }[];
  close(): Promise<void>;
}

export async function lineUp(folder: string): Promise<LineUp> {
  const measurements: Measurement[] = [];
  const absent: { readonly id: string; readonly why: string }[] = [];
  const closing: (() => Promise<void>)[] = [];
  for (const peer of [langgraph, dbos]) {
    const { file, clear } = scratch();
    const found = await peer.enter(folder, file);
    if ("absent" in found) {
      absent.push({ id: peer.id, why: found.absent });
      clear();
      continue;
    }
    measurements.push(comparison(peer, found));
    closing.push(() => found.close().finally(clear));
  }
  return {
    measurements,
    absent,
    close: async () => {
      for (const close of closing) await close();
    },
  };
}

/** Theirs is the value and ours the limit: how near do they come to us, doing the same one after the other. */
function comparison({ id, about, durability }: Peer, contestant: Contestant): Measurement {
  const theirs = () =>
    timed(async () => {
      for (let done = 0; done < runs; done += 1) await contestant.run();
    });
  const ours = () => withScratch((file) => writTime(file, durability));
  return {
    id,
    about: `${about} (${contestant.versions.join(", ")})`,
    beside: `Writ, durability \`${durability}\``,
    unit: "steps/s",
    goal: null,
    round: (order) => rateSideBySide(order, runs * stepsPerRun, { engine: theirs, limit: ours }),
  };
}

async function writTime(file: string, durability: Peer["durability"]): Promise<number> {
  const engine = await openEngine(sqlite(file), durability);
  try {
    const chain = { effects: ["reads"], steps: stepsPerRun, order: "chain", durability } as const;
    return await timed(() => work(engine, { ...chain, runs, atOnce: 1 }));
  } finally {
    await engine.close();
  }
}
