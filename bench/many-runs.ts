import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { collectGarbage } from "./measure-time.ts";
import { openBenchEngine, runWorkload, type Workload } from "./workload.ts";

/** Executes runs in parts, and prints the resident memory after each part. */
const [file = "", runs = "0", parts = "0"] = process.argv.slice(2);

const workloadPart: Workload = {
  effects: ["reads", "acts"],
  runs: Number(runs),
  steps: 2,
  atOnce: 50,
  order: "chain",
  durability: "process",
};
const engine = await openBenchEngine(openSqlite(file), "process");
const heldBytes: number[] = [];
while (heldBytes.length < Number(parts)) {
  await runWorkload(engine, workloadPart);
  collectGarbage();
  heldBytes.push(process.memoryUsage.rss());
}
await engine.close();
console.log(JSON.stringify(heldBytes));
