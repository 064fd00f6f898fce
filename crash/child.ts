import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { CHILD_READY, type ChildReport, type ChildTask } from "./child-task.ts";
import { Killer, withKillPoints } from "./killer.ts";
import { type DiskObserver, observeDisk, setBootId } from "./observe-disk.ts";
import { proveRecovery } from "./prove-recovery.ts";
import { scenarioClock } from "./scenario-clock.ts";
import { saveSyncedCopy, storeFile, worldFile } from "./store-files.ts";

/** Makes every writing statement a kill point; with `power`, saves a copy of the file after each sync. */
function newDiskObserver({ folder, power }: ChildTask, { at }: Killer): DiskObserver {
  return {
    writing: () => at("sql"),
    written: (synced) => {
      if (power && synced) saveSyncedCopy(folder);
    },
  };
}

async function main(task: ChildTask): Promise<void> {
  const { folder, scenarioNames } = task;
  const killer = new Killer(task.kill);
  setBootId(task.boot);
  observeDisk(newDiskObserver(task, killer));
  const file = storeFile(folder);
  const clock = scenarioClock(worldFile(folder));
  const open = () => openSqlite(file, { clock, failpoint: killer.at });
  const store = withKillPoints(open(), killer);
  process.stdout.write(CHILD_READY);
  let passed: ChildReport["passed"] = [];
  const once = () => {
    passed = [...killer.passed];
    return open();
  };
  const report = await proveRecovery({
    scenarioNames,
    store,
    world: worldFile(folder),
    at: killer.at,
    folder,
    open: once,
  });
  process.stdout.write(`${JSON.stringify({ ...report, passed } satisfies ChildReport)}\n`);
}

await main(JSON.parse(process.env.WRIT_CRASH_TASK ?? "{}") as ChildTask);
