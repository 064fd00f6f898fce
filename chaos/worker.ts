import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Store } from "../src/core/store/store.ts";
import { createEngine } from "../src/engine/engine.ts";
import type { Failpoint } from "../src/engine/ports/failpoint.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { chaosTenants } from "./chaos-jobs.ts";
import { newChaosTools } from "./chaos-tools.ts";
import { EffectLog } from "./effect-log.ts";
import { LineAppender, recordStore } from "./record-store.ts";
import { WORKER_READY, WORKER_STOPS, type WorkerOrder, type WorkerTask } from "./worker-task.ts";

const MAX_PAUSE_MS = 60;

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * MAX_PAUSE_MS));
}

/** Opens the store, and repeats this while the server is down. */
async function openStore({ url, leaseMs }: WorkerTask): Promise<Store> {
  for (;;) {
    try {
      return await postgres(url, { leaseMs, connections: 4, connectMs: 5_000, answerMs: 10_000 });
    } catch {
      await pause();
    }
  }
}

/** Executes orders from standard input. Exits when it closes, because the test process has ended. */
function followOrders(): (point: Failpoint) => void {
  let order: WorkerOrder | null = null;
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

async function main(task: WorkerTask): Promise<void> {
  const { by } = task;
  const failpoint = followOrders();
  let close = async (): Promise<void> => {};
  process.once("SIGTERM", () => void close().then(() => process.exit(0)));
  const effectLog = new EffectLog(task.world, by);
  const store = recordStore(await openStore(task), new LineAppender(task.history), by);
  const engine = await createEngine({
    store,
    tools: newChaosTools(effectLog, { pause, now: Date.now }),
    tenants: Object.fromEntries(chaosTenants.map((tenant) => [tenant, { mode: "auto_exec" }] as const)),
    onNotice: async ({ notice_id }) => void effectLog.append("notice", notice_id, ""),
    failpoint,
  });
  close = () => engine.close();
  writeSync(1, WORKER_READY);
}

await main(JSON.parse(process.env.WRIT_CHAOS_TASK ?? "{}") as WorkerTask);
