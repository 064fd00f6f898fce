import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { checkFolder, hasActInDoubt } from "./check-folder.ts";
import type { CrashFinding } from "./check-run.ts";
import type { ChildReport } from "./child-task.ts";
import { mapConcurrently } from "./map-concurrently.ts";
import { observeDisk, setBootId } from "./observe-disk.ts";
import { proveRecovery } from "./prove-recovery.ts";
import type { ReplayResult, ReplayTask } from "./replay-prefixes.ts";
import { runUserProgram } from "./run-user-program.ts";
import type { ScenarioName } from "./scenarios.ts";
import { locksFolder, storeFile, worldFile } from "./store-files.ts";
import { type WritePrefix, writePrefixes } from "./write-prefixes.ts";
import { readMoment, WriteRecorder } from "./write-recorder.ts";

const boot = "boot 1";

/** Records one process, and then restarts the program from every state that a crash of it can leave. */
async function main(task: ReplayTask): Promise<void> {
  const { folder, scenario } = task;
  setBootId(boot);
  const recorder = new WriteRecorder(folder);
  observeDisk(recorder);
  const world = worldFile(folder);
  await runUserProgram({ scenarioNames: [scenario], store: openSqlite(storeFile(folder)), world, at: () => {} });
  recorder.stop();
  const worldBytes = readFileSync(world);
  const prefixes = [...writePrefixes(recorder, readMoment(folder))].filter((_, index) => index % task.every === 0);
  const outcomes = await mapConcurrently(prefixes, (prefix) =>
    restartFrom(task, prefix, worldBytes.subarray(0, prefix.worldSize)),
  );
  const result: ReplayResult = {
    writes: recorder.batches.flatMap(({ writes }) => writes).length,
    syncs: recorder.batches.filter(({ synced }) => synced).length,
    prefixes: prefixes.length,
    in_doubt: outcomes.filter(({ isInDoubt }) => isInDoubt).length,
    findings: outcomes.filter(({ findings }) => findings.length > 0),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
}

/** Restarts the program from one state and checks the result. */
async function restartFrom({ folder, scenario, kills, stuckMs }: ReplayTask, prefix: WritePrefix, worldBytes: Buffer) {
  const prefixFolder = join(folder, `prefix-${prefix.name.replaceAll(" ", "-")}`);
  mkdirSync(prefixFolder);
  const { db, wal } = prefix.files;
  mkdirSync(locksFolder(prefixFolder));
  for (const name of prefix.lockFiles) writeFileSync(join(locksFolder(prefixFolder), name), "");
  if (db !== null) writeFileSync(storeFile(prefixFolder), db);
  if (wal !== null) writeFileSync(`${storeFile(prefixFolder)}-wal`, wal);
  writeFileSync(worldFile(prefixFolder), worldBytes);
  const findings: CrashFinding[] = [];
  let report: ChildReport | null = null;
  try {
    report = await withTimeout(stuckMs, proveInFolder(prefixFolder, scenario, prefix.power ? "boot 2" : boot));
    if (report === null) findings.push({ kind: "stuck", what: "hangs after the restart" });
    else findings.push(...checkFolder(prefixFolder, [scenario], report, kills + 1));
  } catch (error) {
    findings.push({ kind: "untrue", what: `fails after the restart: ${error}` });
  }
  rmSync(prefixFolder, { recursive: true });
  return { name: prefix.name, findings, isInDoubt: hasActInDoubt(report) };
}

async function proveInFolder(prefixFolder: string, scenario: ScenarioName, bootId: string): Promise<ChildReport> {
  const open = () => {
    setBootId(bootId);
    return openSqlite(storeFile(prefixFolder));
  };
  const world = worldFile(prefixFolder);
  const setup = { scenarioNames: [scenario], store: open(), world, at: () => {}, folder: prefixFolder, open };
  return { ...(await proveRecovery(setup)), passed: [] };
}

/** Returns null if the work takes too long. */
async function withTimeout<Result>(ms: number, work: Promise<Result>): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

await main(JSON.parse(process.env.WRIT_CRASH_TASK ?? "{}") as ReplayTask);
