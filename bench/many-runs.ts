import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { collectGarbage } from "./timed.ts";
import { openEngine, type Workload, work } from "./workload.ts";

/** A process that does runs, again and again, and says after each part of them what memory it holds. */
const [file = "", runs = "0", parts = "0"] = process.argv.slice(2);

const part: Workload = {
  effects: ["reads", "acts"],
  runs: Number(runs),
  steps: 2,
  atOnce: 50,
  order: "chain",
  durability: "process",
};
const engine = await openEngine(sqlite(file), "process");
const held: number[] = [];
while (held.length < Number(parts)) {
  await work(engine, part);
  collectGarbage();
  held.push(process.memoryUsage.rss());
}
await engine.close();
console.log(JSON.stringify(held));
