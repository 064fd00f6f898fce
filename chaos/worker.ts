import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Store } from "../src/core/store/store.ts";
import { FaultError } from "../src/core/values/fault.ts";
import type { Engine } from "../src/engine/api/engine-api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { AdjustableClock } from "./adjustable-clock.ts";
import { chaosTenants } from "./chaos-jobs.ts";
import { newChaosTools } from "./chaos-tools.ts";
import { EffectLog } from "./effect-log.ts";
import { LineAppender, recordStore } from "./record-store.ts";
import { type StoreTask, WORKER_READY, WORKER_STOPS, type WorkerOrder, type WorkerTask } from "./worker-task.ts";

const MAX_PAUSE_MS = 60;

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * MAX_PAUSE_MS));
}

type PassFailpoint = (point: string) => void;

async function openStore(task: StoreTask, failpoint: PassFailpoint): Promise<Store> {
  if (task.kind === "postgres")
    return postgres(task.url, { leaseMs: task.leaseMs, connections: 4, connectMs: 5_000, answerMs: 10_000 });
  const { file, leaseMs, stallMs } = task;
  return openSqlite(file, { leaseMs, stallMs, clock: new AdjustableClock(task.clock), failpoint });
}

/** Executes orders from standard input. Exits when it closes, because the test process has ended. */
function followOrders(first: WorkerOrder | null): PassFailpoint {
  let order = first;
  const input = createInterface({ input: process.stdin });
  input.on("line", (line) => {
    order = JSON.parse(line) as WorkerOrder;
  });
  input.on("close", () => process.exit(3));
  return (point) => {
    if (order?.at !== point || order.until < Date.now()) return;
    const current = order;
    order = null;
    if (current.do === "die") process.kill(process.pid, "SIGKILL");
    writeSync(1, WORKER_STOPS);
    process.kill(process.pid, "SIGSTOP");
  };
}

/** Opens an engine, and repeats this while the server is down or the disk is full. */
async function openEngine(
  { by, store: storeTask, world, history }: WorkerTask,
  failpoint: PassFailpoint,
): Promise<Engine> {
  const effectLog = new EffectLog(world, by);
  const appender = new LineAppender(history);
  for (;;) {
    let store: Store | null = null;
    try {
      store = await openStore(storeTask, failpoint);
      return await createEngine({
        store: recordStore(store, appender, by),
        tools: newChaosTools(effectLog, { pause, now: () => performance.now() }),
        tenants: Object.fromEntries(chaosTenants.map((tenant) => [tenant, { mode: "auto_exec" }] as const)),
        onNotice: async ({ notice_id }) => void effectLog.append("notice", notice_id, ""),
        failpoint,
      });
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      await store?.close();
      await pause();
    }
  }
}

async function main(task: WorkerTask): Promise<void> {
  const failpoint = followOrders(task.order);
  let close = async (): Promise<void> => {};
  process.once("SIGTERM", () => void close().then(() => process.exit(0)));
  const engine = await openEngine(task, failpoint);
  close = () => engine.close();
  writeSync(1, WORKER_READY);
}

await main(JSON.parse(process.env.WRIT_CHAOS_TASK ?? "{}") as WorkerTask);
