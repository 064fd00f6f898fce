import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Store } from "../../src/core/store.ts";
import { deadly, deadlyDatabase, Killer } from "./killer.ts";
import { drive } from "./program.ts";
import type { Scenario, Writ } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { READY, type Report, type Task } from "./task.ts";
import { Witness } from "./witness.ts";

/** A module of the built package. */
async function load<Module>(dist: string, file: string): Promise<Module> {
  return import(pathToFileURL(join(dist, file)).href);
}

async function open({ dist, folder, sql }: Task, killer: Killer): Promise<Store> {
  const file = join(folder, "writ.db");
  const { sqlite } = await load<typeof import("../../src/sqlite.ts")>(dist, "sqlite.js");
  if (sql !== true) return sqlite(file);
  const opening = await load<typeof import("../../src/store/sqlite/open.ts")>(dist, "store/sqlite/open.js");
  const inside = await load<typeof import("../../src/store/sqlite/sqlite-store.ts")>(
    dist,
    "store/sqlite/sqlite-store.js",
  );
  const opened = opening.openDatabase(file);
  return inside.sqliteStore(deadlyDatabase(opened.db, killer), opened.file);
}

/** Runs the program to its rest, and then once more, as if someone had started it again for no reason. */
async function main(task: Task): Promise<void> {
  const scenario: Scenario = scenarios[task.scenario];
  const writ = await load<Writ>(task.dist, "index.js");
  const killer = new Killer(task.kill, (code) => new writ.FaultError({ code, message: "the store is not itself" }));
  const witness = new Witness(join(task.folder, "world.jsonl"));
  const world = { writ, witness, at: killer.at };
  const store = await open(task, killer);
  process.stdout.write(READY);
  const rest = await drive(world, scenario, deadly(store, killer), killer);
  const deeds = witness.deeds().length;
  const passed = [...killer.passed];
  const again = await drive(world, scenario, await open(task, killer), killer);
  process.stdout.write(`${JSON.stringify({ rest, again, deeds, passed } satisfies Report)}\n`);
}

await main(JSON.parse(process.env.WRIT_CRASH_TASK ?? "{}") as Task);
