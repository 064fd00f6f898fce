import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle, type Program, root } from "./bundle.ts";
import { type Cell, type Outcome, placeOf } from "./cell.ts";
import { underWay } from "./in-words.ts";
import { countOf, type Finding } from "./judge.ts";
import type { Kill } from "./killer.ts";
import { type Chance, type Ended, ended, stuckMs } from "./life.ts";
import type { Patch } from "./patch.ts";
import type { Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { cutPower, worldFile } from "./store-files.ts";
import { READY, type Report, type Task } from "./task.ts";
import { verdictOn } from "./verdict.ts";
import { deedsIn } from "./witness.ts";

/** The programs of this folder with the package they run, and room for what they leave behind. */
export class Stage {
  readonly folder: string;
  readonly #programs: string;
  /** A child that has not ended by itself by then never will. */
  readonly stuckMs: number;
  readonly #living = new Set<ChildProcess>();

  private constructor(folder: string, programs: string, patienceMs: number) {
    this.folder = folder;
    this.#programs = programs;
    this.stuckMs = patienceMs;
  }

  static async raise(): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), "writ-crash-"));
    writeFileSync(join(folder, "package.json"), `{ "type": "module" }\n`);
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const programs = join(folder, "programs");
    await bundle(programs);
    return new Stage(folder, programs, stuckMs);
  }

  /** One of the programs, with a bug in the package under it. */
  async ill({ program, patches, stuckMs }: Illness): Promise<Stage> {
    const programs = mkdtempSync(join(this.folder, "programs-"));
    await bundle(programs, [program], patches);
    return new Stage(this.folder, programs, stuckMs);
  }

  newFolder(): string {
    return mkdtempSync(join(this.folder, "cell-"));
  }

  /** Where a program of this folder lies, with the package in it. */
  program(name: Program): string {
    return join(this.#programs, `${name}.js`);
  }

  /** Starts a program in a process that does not outlive the stage. */
  start(args: readonly string[], env: Readonly<Record<string, string>>, cwd = this.folder): ChildProcess {
    const child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...env } });
    this.#living.add(child);
    child.once("close", () => this.#living.delete(child));
    return child;
  }

  child(task: Task, chance: Chance | null = null): Promise<Ended> {
    const child = this.start([this.program("child")], { WRIT_CRASH_TASK: JSON.stringify(task) });
    return ended(child, this.stuckMs, chance);
  }

  /** One life on a store that was struck so often before; where the power goes with the process, it is gone afterwards. */
  async lives(cell: Cell, folder: string, struck: number, kill: Kill | null, chance: Chance | null): Promise<Ended> {
    const life = await this.child(taskOf(cell, folder, struck, kill), chance);
    if (cell.power === true && life.signal === "SIGKILL" && !life.stuck) cutPower(folder);
    return life;
  }

  /** Dies at each place in turn, starts once more, and judges what is left. */
  async run(cell: Cell): Promise<Outcome> {
    const folder = this.newFolder();
    const findings: Finding[] = [];
    let struck = 0;
    for (const kill of cell.kills) {
      const { killed, finding } = await this.#dies(cell, folder, struck, kill);
      if (killed) struck += 1;
      if (finding !== null) findings.push(finding);
    }
    const last = await this.lives(cell, folder, struck, null, null);
    const outcome = await judged(cell, folder, struck, last);
    rmSync(folder, { recursive: true });
    return { ...outcome, findings: [...findings, ...outcome.findings] };
  }

  /** One life that is to end at one place. */
  async #dies(cell: Cell, folder: string, struck: number, kill: Kill | Chance): Promise<Death> {
    const [place, chance] = "point" in kill ? [kill, null] : [null, kill];
    const life = await this.lives(cell, folder, struck, place, chance);
    if (life.stuck) {
      const what = `hangs before ${placeOf(kill)}: ${await underWay(folder)}`;
      return { killed: false, finding: { kind: "stuck", what } };
    }
    if (life.signal === "SIGKILL") return { killed: true, finding: null };
    if (place?.fault !== undefined && life.stderr.includes(place.fault)) return { killed: true, finding: null };
    if (life.code === 0) return { killed: false, finding: null };
    return { killed: false, finding: { kind: "untrue", what: `fails before ${placeOf(kill)}: ${life.stderr}` } };
  }

  strike(): void {
    for (const child of this.#living) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

interface Illness {
  readonly program: Program;
  readonly patches: readonly Patch[];
  readonly stuckMs: number;
}

interface Death {
  readonly killed: boolean;
  readonly finding: Finding | null;
}

/** A machine whose power was cut is started anew; a process is not. */
function taskOf({ cast, power = false }: Cell, folder: string, kills: number, kill: Kill | null): Task {
  return { cast, folder, kill, power, boot: `boot ${power ? kills + 1 : 1}` };
}

/** What a cell came to, once its last process has ended. */
export async function judged(cell: Cell, folder: string, kills: number, last: Ended): Promise<Outcome> {
  const { stuck, code, stdout, stderr } = last;
  const report = code === 0 ? (JSON.parse(stdout.slice(READY.length)) as Report) : null;
  const findings: Finding[] = [];
  if (stuck) findings.push({ kind: "stuck", what: `hangs after the restart: ${await underWay(folder)}` });
  else if (report === null) findings.push({ kind: "untrue", what: `fails after the restart: ${stderr}` });
  else findings.push(...verdictOn(folder, cell.cast, report, kills));
  const [first] = cell.cast;
  const acts: Scenario["acts"] = first === undefined ? {} : scenarios[first].acts;
  const deeds = deedsIn(worldFile(folder));
  const counts = Object.fromEntries(Object.entries(acts).map(([step, fact]) => [step, countOf(fact, deeds)] as const));
  return { cell, kills, findings, report, counts };
}
