import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { clockOf } from "./clock.ts";
import { deadly, Killer } from "./killer.ts";
import { type Disk, layUnder, reboot } from "./machine.ts";
import { prove } from "./proof.ts";
import { keepSynced, storeFile, worldFile } from "./store-files.ts";
import { READY, type Report, type Task } from "./task.ts";

/** Every statement that writes is a place to die; where the power may be cut, what is synced is kept. */
function diskOf({ folder, power }: Task, { at }: Killer): Disk {
  return {
    writing: () => at("sql"),
    written: (synced) => {
      if (power && synced) keepSynced(folder);
    },
  };
}

async function main(task: Task): Promise<void> {
  const { folder, cast } = task;
  const killer = new Killer(task.kill);
  reboot(task.boot);
  layUnder(diskOf(task, killer));
  const file = storeFile(folder);
  const clock = clockOf(worldFile(folder));
  const open = () => sqlite(file, { clock });
  const store = deadly(open(), killer);
  process.stdout.write(READY);
  let passed: Report["passed"] = [];
  const once = () => {
    passed = [...killer.passed];
    return open();
  };
  const report = await prove({ cast, store, world: worldFile(folder), at: killer.at, file, open: once });
  process.stdout.write(`${JSON.stringify({ ...report, passed } satisfies Report)}\n`);
}

await main(JSON.parse(process.env.WRIT_CRASH_TASK ?? "{}") as Task);
