import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { Killer, withKillPoints } from "./killer.ts";
import { setBootId } from "./observe-disk.ts";
import { FIRST_HOLDS, isHandedOver, PAIR_WORLD, type PairTask, secondJoined } from "./pair-task.ts";
import { holdRunIdle, runUserProgram } from "./run-user-program.ts";
import { storeFile, worldFile } from "./store-files.ts";
import { WorldLog } from "./world-log.ts";

/** Runs the program beside another process that runs it too, and prints the points that it passed. */
async function main({ scenario, folder, member, kill }: PairTask): Promise<void> {
  setBootId("boot 1");
  const killer = new Killer(kill);
  const world = worldFile(folder);
  const pairLog = new WorldLog(world, PAIR_WORLD);
  const at = (point: string): void => {
    killer.at(point);
    if (member === "first" && point === "tool.called") holdUntilJoined(pairLog);
    if (member === "second" && point === "register.after") pairLog.append(secondJoined);
  };
  const open = () => openSqlite(storeFile(folder), { failpoint: at });
  const setup = { scenarioNames: [scenario], store: withKillPoints(open(), { at }), world, at };
  if (member === "first" && isHandedOver(scenario)) await holdRunIdle(setup, scenario, open);
  else await runUserProgram(setup);
  process.stdout.write(`${JSON.stringify(killer.passed)}\n`);
}

/** Blocks the process, so that it still holds its run when the second one has joined. */
function holdUntilJoined(pairLog: WorldLog): void {
  process.stdout.write(FIRST_HOLDS);
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (pairLog.count(secondJoined.did, secondJoined.to) === 0) Atomics.wait(never, 0, 0, 5);
}

await main(JSON.parse(process.env.WRIT_CRASH_TASK ?? "{}") as PairTask);
