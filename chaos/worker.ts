import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Store } from "../src/core/store.ts";
import { createEngine } from "../src/engine/engine.ts";
import type { Failpoint } from "../src/engine/failpoint.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { tenants } from "./plans.ts";
import { Pen, recorded } from "./recorder.ts";
import { FAINTS, type Order, READY, type Task } from "./task.ts";
import { toolsOf } from "./tools.ts";
import { Witness } from "./witness.ts";

const pauseMostMs = 60;

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMostMs));
}

/** A server that is away when a worker starts comes back. */
async function opened({ url, leaseMs }: Task): Promise<Store> {
  for (;;) {
    try {
      return await postgres(url, { leaseMs, connections: 4, connectMs: 5_000, answerMs: 10_000 });
    } catch {
      await pause();
    }
  }
}

/** Does as it is told by whoever started it, and ends when they are gone: nobody would look at what it does. */
function obeying(): (point: Failpoint) => void {
  let order: Order | null = null;
  const orders = createInterface({ input: process.stdin });
  orders.on("line", (line) => {
    order = JSON.parse(line) as Order;
  });
  orders.on("close", () => process.exit(3));
  return (point) => {
    if (order?.at !== point || order.until < Date.now()) return;
    const told = order;
    order = null;
    if (told.do === "die") process.kill(process.pid, "SIGKILL");
    writeSync(1, FAINTS);
    process.kill(process.pid, "SIGSTOP");
  };
}

async function main(task: Task): Promise<void> {
  const { by } = task;
  const failpoint = obeying();
  let close = async (): Promise<void> => {};
  process.once("SIGTERM", () => void close().then(() => process.exit(0)));
  const witness = new Witness(task.world, by);
  const store = recorded(await opened(task), new Pen(task.history), by);
  const engine = await createEngine({
    store,
    tools: toolsOf(witness, { pause, now: Date.now }),
    tenants: Object.fromEntries(tenants.map((tenant) => [tenant, { mode: "auto_exec" }] as const)),
    onNotice: async ({ notice_id }) => void witness.act("notice", notice_id, ""),
    failpoint,
  });
  close = () => engine.close();
  writeSync(1, READY);
}

await main(JSON.parse(process.env.WRIT_CHAOS_TASK ?? "{}") as Task);
