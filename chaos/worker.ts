import type { Store } from "../src/core/store.ts";
import { createEngine } from "../src/engine/engine.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { tenants } from "./plans.ts";
import { Pen, recorded } from "./recorder.ts";
import { READY, type Task } from "./task.ts";
import { toolsOf } from "./tools.ts";
import { Witness } from "./witness.ts";

const pauseMostMs = 60;

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMostMs));
}

/** A server that is away when a worker starts comes back, and the worker is started again by whoever looks after it. */
async function opened({ url, leaseMs }: Task): Promise<Store> {
  for (;;) {
    try {
      return await postgres(url, { leaseMs, connections: 4, connectMs: 5_000, answerMs: 10_000 });
    } catch {
      await pause();
    }
  }
}

async function main(task: Task): Promise<void> {
  const { by } = task;
  // Whoever started it is gone: nobody would ever look at what it does.
  process.stdin.on("end", () => process.exit(3)).resume();
  const witness = new Witness(task.world, by);
  const store = recorded(await opened(task), new Pen(task.history), by);
  const engine = await createEngine({
    store,
    tools: toolsOf(witness, { pause, now: Date.now }),
    tenants: Object.fromEntries(tenants.map((tenant) => [tenant, { mode: "auto_exec" }] as const)),
    onNotice: async ({ notice_id }) => void witness.act("notice", notice_id, ""),
  });
  process.once("SIGTERM", () => void engine.close().then(() => process.exit(0)));
  process.stdout.write(READY);
}

await main(JSON.parse(process.env.WRIT_CHAOS_TASK ?? "{}") as Task);
