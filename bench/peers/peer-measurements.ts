import { openSqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { measureTime } from "../measure-time.ts";
import { type Measurement, measureRates } from "../measurement.ts";
import { newScratchFile, withScratchFile } from "../scratch-file.ts";
import { openBenchEngine, runWorkload } from "../workload.ts";
import { dbos } from "./dbos.ts";
import { langgraph } from "./langgraph.ts";
import { type Peer, type PeerEngine, stepsPerRun } from "./peer.ts";

const runs = 50;

/** The measured engines, and the skipped ones with the reason. */
export interface PeerMeasurements {
  readonly measurements: readonly Measurement[];
  readonly absent: readonly { readonly id: string; readonly why: string }[];
  close(): Promise<void>;
}

export async function openPeerMeasurements(folder: string): Promise<PeerMeasurements> {
  const measurements: Measurement[] = [];
  const absent: { readonly id: string; readonly why: string }[] = [];
  const closing: (() => Promise<void>)[] = [];
  for (const peer of [langgraph, dbos]) {
    const { file, clear } = newScratchFile();
    const found = await peer.open(folder, file);
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

/** Compares a peer (the value) with Writ (the limit) on the same sequential runs. */
function comparison({ id, about, durability }: Peer, peerEngine: PeerEngine): Measurement {
  const timePeer = () =>
    measureTime(async () => {
      for (let done = 0; done < runs; done += 1) await peerEngine.run();
    });
  const timeOurs = () => withScratchFile((file) => timeWrit(file, durability));
  return {
    id,
    about: `${about} (${peerEngine.versions.join(", ")})`,
    limitAbout: `Writ, durability \`${durability}\``,
    unit: "steps/s",
    goal: null,
    round: (order) => measureRates(order, runs * stepsPerRun, { engine: timePeer, limit: timeOurs }),
  };
}

async function timeWrit(file: string, durability: Peer["durability"]): Promise<number> {
  const engine = await openBenchEngine(openSqlite(file), durability);
  try {
    const chain = { effects: ["reads"], steps: stepsPerRun, order: "chain", durability } as const;
    return await measureTime(() => runWorkload(engine, { ...chain, runs, atOnce: 1 }));
  } finally {
    await engine.close();
  }
}
