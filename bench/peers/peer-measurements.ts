import type { Store } from "../../src/core/store/store.ts";
import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { measureTime } from "../measure-time.ts";
import { type Measurement, measureRates } from "../measurement.ts";
import { type BenchServer, startBenchServer } from "../postgres/bench-server.ts";
import { newScratchFile, withScratchFile } from "../scratch-file.ts";
import { openBenchEngine, runWorkload, type Workload } from "../workload.ts";
import { dbos } from "./dbos.ts";
import { langgraphGraph, langgraphTask } from "./langgraph.ts";
import { mastra } from "./mastra.ts";
import { openworkflow } from "./openworkflow.ts";
import { type Peer, type PeerAbsence, type PeerEngine, stepsPerRun } from "./peer.ts";

const peers: readonly Peer[] = [langgraphTask, langgraphGraph, mastra, openworkflow, dbos];

/** The runs of a round, and how many are concurrent. */
const workloads = { W1: { runs: 50, atOnce: 1 }, W2: { runs: 100, atOnce: 50 } } as const;

type PeerWorkload = keyof typeof workloads;

/** The measured engines, and the skipped ones with the reason. */
export interface PeerMeasurements {
  readonly measurements: readonly Measurement[];
  readonly absent: readonly { readonly id: string; readonly why: string }[];
  close(): Promise<void>;
}

/** Opens the peers that are installed in a folder. Those on Postgres and Writ share a server. */
export async function openPeerMeasurements(folder: string): Promise<PeerMeasurements> {
  const measurements: Measurement[] = [];
  const absent: { readonly id: string; readonly why: string }[] = [];
  const server = await startBenchServer();
  const closing: (() => Promise<void>)[] = [() => server.close()];
  for (const peer of peers) {
    const { file, clear } = newScratchFile();
    const found = isNodeTooOld(peer)
      ? { absent: `needs Node ${peer.node}: install node@24 beside it, and run the bench with that` }
      : await peer.open(folder, { file, databaseUrl: server.superuserUrl }).catch(toAbsence);
    if ("absent" in found) {
      absent.push({ id: `peer.${peer.name}`, why: found.absent });
      clear();
      continue;
    }
    for (const workload of Object.keys(workloads) as PeerWorkload[])
      measurements.push(comparison(peer, found, workload, server));
    closing.unshift(() => found.close().finally(clear));
  }
  return {
    measurements,
    absent,
    close: async () => {
      for (const close of closing) await close();
    },
  };
}

/** A package with a compiled part runs only under the version of Node that it was installed with. */
function toAbsence(error: unknown): PeerAbsence {
  const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return { absent: `cannot be opened: ${first}` };
}

function isNodeTooOld({ node = 0 }: Peer): boolean {
  return Number(process.versions.node.split(".")[0]) < node;
}

/** Compares a peer (the value) with Writ (the limit) on the same runs, the same kind of store and the same syncs. */
function comparison(peer: Peer, engine: PeerEngine, name: PeerWorkload, server: BenchServer): Measurement {
  const { durability, store } = peer;
  const { runs, atOnce } = workloads[name];
  const workload = { effects: ["reads"], steps: stepsPerRun, order: "chain", durability, runs, atOnce } as const;
  const timeOurs = () =>
    store === "sqlite"
      ? withScratchFile((file) => timeWrit(() => openSqlite(file), workload))
      : server.empty().then(() => timeWrit(() => postgres(server.url), workload));
  return {
    id: `peer.${peer.name}.${name}.${store}`,
    about: `${peer.about}; ${runs} runs, ${atOnce} at a time (${engine.versions.join(", ")})`,
    limitAbout: `Writ on ${store === "sqlite" ? "SQLite" : "Postgres"}, durability \`${durability}\``,
    unit: "steps/s",
    goal: null,
    round: (order) =>
      measureRates(order, runs * stepsPerRun, { engine: () => timePeer(engine, workload), limit: timeOurs }),
  };
}

function timePeer(engine: PeerEngine, { runs, atOnce }: Workload): Promise<number> {
  let remaining = runs;
  const runAll = async () => {
    while (remaining > 0) {
      remaining -= 1;
      await engine.run();
    }
  };
  return measureTime(async () => void (await Promise.all(Array.from({ length: atOnce }, runAll))));
}

async function timeWrit(open: () => Store | Promise<Store>, workload: Workload): Promise<number> {
  const engine = await openBenchEngine(await open(), workload.durability);
  try {
    return await measureTime(() => runWorkload(engine, workload));
  } finally {
    await engine.close();
  }
}
