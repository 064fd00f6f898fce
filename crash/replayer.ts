import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { inTurns } from "./in-turns.ts";
import type { Finding } from "./judge.ts";
import { layUnder, reboot } from "./machine.ts";
import { type Prefix, prefixesOf } from "./prefixes.ts";
import { drive } from "./program.ts";
import { prove } from "./proof.ts";
import type { Replayed, ReplayTask } from "./replay.ts";
import type { ScenarioName } from "./scenarios.ts";
import { storeFile, worldFile } from "./store-files.ts";
import { Tape } from "./tape.ts";
import type { Report } from "./task.ts";
import { isDoubted, verdictOn } from "./verdict.ts";

const boot = "boot 1";

/** Plays one life and takes it down; then starts the program anew from every state that the tape can leave. */
async function main(task: ReplayTask): Promise<void> {
  const { folder, scenario } = task;
  reboot(boot);
  const tape = new Tape(folder);
  layUnder(tape);
  const world = worldFile(folder);
  await drive({ cast: [scenario], store: sqlite(storeFile(folder)), world, at: () => {} });
  tape.stop();
  const record = readFileSync(world);
  const prefixes = [...prefixesOf(tape, record.length)].filter((_, index) => index % task.every === 0);
  const outcomes = await inTurns(prefixes, (prefix) => restart(task, prefix, record.subarray(0, prefix.seen)));
  const replayed: Replayed = {
    writes: tape.turns.flatMap(({ writes }) => writes).length,
    syncs: tape.turns.filter(({ synced }) => synced).length,
    prefixes: prefixes.length,
    in_doubt: outcomes.filter(({ doubted }) => doubted).length,
    findings: outcomes.filter(({ findings }) => findings.length > 0),
  };
  process.stdout.write(`${JSON.stringify(replayed)}\n`, () => process.exit());
}

/** What one more start makes of one state. */
async function restart({ folder, scenario, kills, stuckMs }: ReplayTask, prefix: Prefix, record: Buffer) {
  const home = join(folder, `prefix-${prefix.name.replaceAll(" ", "-")}`);
  mkdirSync(home);
  const { db, wal } = prefix.files;
  if (db !== null) writeFileSync(storeFile(home), db);
  if (wal !== null) writeFileSync(`${storeFile(home)}-wal`, wal);
  writeFileSync(worldFile(home), record);
  const findings: Finding[] = [];
  let report: Report | null = null;
  try {
    report = await within(stuckMs, proven(home, scenario, prefix.power ? "boot 2" : boot));
    if (report === null) findings.push({ kind: "stuck", what: "hangs after the restart" });
    else findings.push(...verdictOn(home, [scenario], report, kills + 1));
  } catch (error) {
    findings.push({ kind: "untrue", what: `fails after the restart: ${error}` });
  }
  rmSync(home, { recursive: true });
  return { name: prefix.name, findings, doubted: isDoubted(report) };
}

async function proven(home: string, scenario: ScenarioName, booted: string): Promise<Report> {
  const file = storeFile(home);
  const open = () => {
    reboot(booted);
    return sqlite(file);
  };
  const setting = { cast: [scenario], store: open(), world: worldFile(home), at: () => {}, file, open };
  return { ...(await prove(setting)), passed: [] };
}

/** Null: it took too long. */
async function within<Result>(ms: number, work: Promise<Result>): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((done) => {
    timer = setTimeout(() => done(null), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

await main(JSON.parse(process.env.WRIT_CRASH_TASK ?? "{}") as ReplayTask);
