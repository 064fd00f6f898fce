import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { countOf, type Finding, judge } from "./judge.ts";
import type { Kill } from "./killer.ts";
import type { Scenario } from "./scenario.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";
import { READY, type Report, type Task } from "./task.ts";
import { Witness } from "./witness.ts";

const here = dirname(fileURLToPath(import.meta.url));
export const root = dirname(dirname(here));

/** The built package that is put to the proof. */
export const dist = resolve(process.env.WRIT_DIST ?? join(root, "dist"));

/** A child that has not ended by itself by then never will. */
const stuckMs = 20_000;

/** How a process ended, and what it printed. */
export interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stuck: boolean;
  /** From its first word to its end. */
  readonly lastedMs: number;
}

/** A kill by the clock, so long after the child has opened its store; or early, after its process was started. */
export interface Chance {
  readonly afterMs: number;
  readonly early: boolean;
}

/** One place to die, or several, one after the other: each process but the last is killed. */
export interface Cell {
  readonly scenario: ScenarioName;
  readonly kills: readonly (Kill | Chance)[];
  /** Every statement that writes is a place to die, too. */
  readonly sql?: boolean;
}

export interface Outcome {
  readonly cell: Cell;
  /** How many of the kills struck; the others were never reached. */
  readonly kills: number;
  readonly findings: readonly Finding[];
  /** Null where the last process had nothing to report. */
  readonly report: Report | null;
  /** How often the world saw each act, by step. */
  readonly counts: Readonly<Record<string, number>>;
  /** How long the last process was at work. */
  readonly lastedMs: number;
}

/** The programs of this folder as JavaScript, the package they run, and room for what they leave behind. */
export class Stage {
  readonly folder: string;
  readonly #dist: string;
  readonly #stuckMs: number;
  readonly #living = new Set<ChildProcess>();

  constructor(of: { readonly folder?: string; readonly dist?: string; readonly stuckMs?: number } = {}) {
    this.#dist = of.dist ?? dist;
    this.#stuckMs = of.stuckMs ?? stuckMs;
    this.folder = of.folder ?? prepared();
  }

  /** The same programs, on another build or with less patience. */
  with(of: { readonly dist: string; readonly stuckMs: number }): Stage {
    return new Stage({ folder: this.folder, ...of });
  }

  newFolder(): string {
    return mkdtempSync(join(this.folder, "cell-"));
  }

  /** Starts a program of this folder in a process of its own. */
  spawn(program: string, env: Readonly<Record<string, string>>): ChildProcess {
    return this.start(join(this.folder, "program/tests/crash", program), env);
  }

  /** Starts a program in a process that does not outlive the stage. */
  start(file: string, env: Readonly<Record<string, string>>, cwd = this.folder): ChildProcess {
    const child = spawn(process.execPath, [file], { cwd, env: { ...process.env, ...env } });
    this.#living.add(child);
    child.once("close", () => this.#living.delete(child));
    return child;
  }

  child(task: Omit<Task, "dist">, chance: Chance | null = null): Promise<Ended> {
    const child = this.spawn("child.js", { WRIT_CRASH_TASK: JSON.stringify({ ...task, dist: this.#dist }) });
    return ended(child, this.#stuckMs, chance);
  }

  /** Dies at each place in turn, starts once more, and judges what is left. */
  async run(cell: Cell): Promise<Outcome> {
    const { scenario, kills, sql = false } = cell;
    const folder = this.newFolder();
    const findings: Finding[] = [];
    let struck = 0;
    for (const kill of kills) {
      const [place, chance] = "point" in kill ? [kill, null] : [null, kill];
      const { signal, code, stderr, stuck } = await this.child({ scenario, folder, kill: place, sql }, chance);
      if (stuck) findings.push({ kind: "stuck", what: `hangs before ${placeOf(kill)}` });
      else if (signal === "SIGKILL" || (place?.fault !== undefined && stderr.includes(place.fault))) struck += 1;
      else if (code !== 0) findings.push({ kind: "untrue", what: `fails before ${placeOf(kill)}: ${stderr}` });
    }
    const last = await this.child({ scenario, folder, kill: null, sql });
    const report = last.code === 0 ? (JSON.parse(last.stdout.slice(READY.length)) as Report) : null;
    const deeds = new Witness(join(folder, "world.jsonl")).deeds();
    const facts: Scenario = scenarios[scenario];
    if (last.stuck) findings.push({ kind: "stuck", what: "hangs after the restart" });
    else if (report === null) findings.push({ kind: "untrue", what: `fails after the restart: ${last.stderr}` });
    else findings.push(...judge({ scenario: facts, report, deeds, kills: struck }));
    const counts = Object.entries(facts.acts).map(([step, fact]) => [step, countOf(fact, deeds)] as const);
    rmSync(folder, { recursive: true });
    return { cell, kills: struck, findings, report, counts: Object.fromEntries(counts), lastedMs: last.lastedMs };
  }

  strike(): void {
    for (const child of this.#living) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function prepared(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-crash-"));
  const out = join(folder, "program");
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  const options = ["--project", join(here, "tsconfig.json"), "--outDir", out];
  const { status, stdout } = spawnSync(process.execPath, [tsc, ...options], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the child program does not compile: ${stdout}`);
  writeFileSync(join(out, "package.json"), `{ "type": "module" }\n`);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Waits for a process to end; kills it when its chance comes, or when it hangs. */
export async function ended(child: ChildProcess, within = stuckMs, chance: Chance | null = null): Promise<Ended> {
  const printed = { stdout: "", stderr: "" };
  const timers = new Set<NodeJS.Timeout>();
  const kill = () => child.kill("SIGKILL");
  let stuck = false;
  let began = performance.now();
  const hang = () => {
    stuck = true;
    kill();
  };
  timers.add(setTimeout(hang, within));
  if (chance?.early === true) timers.add(setTimeout(kill, chance.afterMs));
  child.stdout?.on("data", (text) => {
    if (printed.stdout === "") began = performance.now();
    if (printed.stdout === "" && chance?.early === false) timers.add(setTimeout(kill, chance.afterMs));
    printed.stdout += text;
  });
  child.stderr?.on("data", (text) => {
    printed.stderr += text;
  });
  return new Promise((answer) => {
    child.once("close", (code, signal) => {
      for (const timer of timers) clearTimeout(timer);
      answer({ code, signal, stuck, lastedMs: performance.now() - began, ...printed });
    });
  });
}

export function nameOf({ scenario, kills }: Cell): string {
  return `${scenario}, killed at ${kills.map(placeOf).join(", then at ") || "no point"}`;
}

function placeOf(kill: Kill | Chance): string {
  return "point" in kill
    ? `${kill.point} #${kill.nth}${kill.fault ? ` with ${kill.fault}` : ""}`
    : `${kill.afterMs.toFixed(3)} ms`;
}
