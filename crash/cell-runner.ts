import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundlePrograms, type ProgramName, packageRoot } from "./bundle-programs.ts";
import { type Cell, type CellOutcome, killName } from "./cell.ts";
import { checkFolder } from "./check-folder.ts";
import { type CrashFinding, countExpectedEffect } from "./check-run.ts";
import { CHILD_READY, type ChildReport, type ChildTask } from "./child-task.ts";
import { describeUnendedRuns } from "./describe-run.ts";
import type { KillPoint } from "./killer.ts";
import type { Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import type { SourcePatch } from "./source-patch.ts";
import { cutPower, worldFile } from "./store-files.ts";
import { type ProcessExit, STUCK_AFTER_MS, type TimedKill, waitForExit } from "./wait-for-exit.ts";
import { readWorldEntries } from "./world-log.ts";

/** Runs cells in a temporary folder, with the bundled programs. */
export class CellRunner {
  readonly folder: string;
  readonly #programs: string;
  /** A child that runs longer hangs. */
  readonly stuckMs: number;
  readonly #running = new Set<ChildProcess>();

  private constructor(folder: string, programs: string, stuckMs: number) {
    this.folder = folder;
    this.#programs = programs;
    this.stuckMs = stuckMs;
  }

  static async create(): Promise<CellRunner> {
    const folder = mkdtempSync(join(tmpdir(), "writ-crash-"));
    writeFileSync(join(folder, "package.json"), `{ "type": "module" }\n`);
    symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
    const programs = join(folder, "programs");
    await bundlePrograms(programs);
    return new CellRunner(folder, programs, STUCK_AFTER_MS);
  }

  /** Returns a runner of one program with a bug in its package. */
  async withPatches({ program, patches, stuckMs }: MutantSetup): Promise<CellRunner> {
    const programs = mkdtempSync(join(this.folder, "programs-"));
    await bundlePrograms(programs, [program], patches);
    return new CellRunner(this.folder, programs, stuckMs);
  }

  newFolder(): string {
    return mkdtempSync(join(this.folder, "cell-"));
  }

  /** Returns the path of a bundled program. */
  program(name: ProgramName): string {
    return join(this.#programs, `${name}.js`);
  }

  /** Starts a program in a process that ends with the runner at the latest. */
  start(args: readonly string[], env: Readonly<Record<string, string>>, cwd = this.folder): ChildProcess {
    const child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...env } });
    this.#running.add(child);
    child.once("close", () => this.#running.delete(child));
    return child;
  }

  runChild(task: ChildTask, timedKill: TimedKill | null = null): Promise<ProcessExit> {
    const child = this.start([this.program("child")], { WRIT_CRASH_TASK: JSON.stringify(task) });
    return waitForExit(child, this.stuckMs, timedKill);
  }

  /** Runs one process on a store after `kills` kills. With `power`, a kill also cuts the power. */
  async runProcess(
    cell: Cell,
    folder: string,
    kills: number,
    kill: KillPoint | null,
    timedKill: TimedKill | null,
  ): Promise<ProcessExit> {
    const exit = await this.runChild(newChildTask(cell, folder, kills, kill), timedKill);
    if (cell.power === true && exit.signal === "SIGKILL" && !exit.stuck) cutPower(folder);
    return exit;
  }

  /** Kills a process at each point in turn, starts it once more, and checks the result. */
  async run(cell: Cell): Promise<CellOutcome> {
    const folder = this.newFolder();
    const findings: CrashFinding[] = [];
    let kills = 0;
    for (const kill of cell.kills) {
      const { killed, finding } = await this.#runKilled(cell, folder, kills, kill);
      if (killed) kills += 1;
      if (finding !== null) findings.push(finding);
    }
    const last = await this.runProcess(cell, folder, kills, null, null);
    const outcome = await checkCell(cell, folder, kills, last);
    rmSync(folder, { recursive: true });
    return { ...outcome, findings: [...findings, ...outcome.findings] };
  }

  /** Runs one process that is killed at one point. */
  async #runKilled(cell: Cell, folder: string, kills: number, kill: KillPoint | TimedKill): Promise<KillResult> {
    const [place, timedKill] = "point" in kill ? [kill, null] : [null, kill];
    const exit = await this.runProcess(cell, folder, kills, place, timedKill);
    if (exit.stuck) {
      const what = `hangs before ${killName(kill)}: ${await describeUnendedRuns(folder)}`;
      return { killed: false, finding: { kind: "stuck", what } };
    }
    if (exit.signal === "SIGKILL") return { killed: true, finding: null };
    if (place?.fault !== undefined && exit.stderr.includes(place.fault)) return { killed: true, finding: null };
    if (exit.code === 0) return { killed: false, finding: null };
    return { killed: false, finding: { kind: "untrue", what: `fails before ${killName(kill)}: ${exit.stderr}` } };
  }

  close(): void {
    for (const child of this.#running) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

interface MutantSetup {
  readonly program: ProgramName;
  readonly patches: readonly SourcePatch[];
  readonly stuckMs: number;
}

interface KillResult {
  readonly killed: boolean;
  readonly finding: CrashFinding | null;
}

/** A power cut restarts the machine, so the boot id changes; the kill of a process does not. */
function newChildTask(
  { scenarioNames, power = false }: Cell,
  folder: string,
  kills: number,
  kill: KillPoint | null,
): ChildTask {
  return { scenarioNames, folder, kill, power, boot: `boot ${power ? kills + 1 : 1}` };
}

/** Checks a cell after its last process has ended. */
export async function checkCell(cell: Cell, folder: string, kills: number, last: ProcessExit): Promise<CellOutcome> {
  const { stuck, code, stdout, stderr } = last;
  const report = code === 0 ? (JSON.parse(stdout.slice(CHILD_READY.length)) as ChildReport) : null;
  const findings: CrashFinding[] = [];
  if (stuck) findings.push({ kind: "stuck", what: `hangs after the restart: ${await describeUnendedRuns(folder)}` });
  else if (report === null) findings.push({ kind: "untrue", what: `fails after the restart: ${stderr}` });
  else findings.push(...checkFolder(folder, cell.scenarioNames, report, kills));
  const [first] = cell.scenarioNames;
  const acts: Scenario["acts"] = first === undefined ? {} : scenarios[first].acts;
  const entries = readWorldEntries(worldFile(folder));
  const counts = Object.fromEntries(
    Object.entries(acts).map(([step, effect]) => [step, countExpectedEffect(effect, entries)] as const),
  );
  return { cell, kills, findings, report, counts };
}
