import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { RunResult } from "../src/core/run/run-result.ts";
import { FaultError } from "../src/core/values/fault.ts";
import { createEngine } from "../src/engine/engine.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { compiledPackage } from "./bundle-programs.ts";
import type { CellRunner } from "./cell-runner.ts";
import type { CrashFinding } from "./check-run.ts";
import {
  type CliCommand,
  type CliScenario,
  type CliScenarioName,
  cliConfig,
  cliPlans,
  cliScenarios,
  type KnownIds,
} from "./cli-scenarios.ts";
import { mapConcurrently } from "./map-concurrently.ts";
import { addFindings, type PartTotals } from "./part-totals.ts";
import { storeFile } from "./store-files.ts";
import { waitForExit } from "./wait-for-exit.ts";

/** A user's folder in which the built command line runs, and in which its process can be killed at any write. */
class CliFolder {
  readonly folder: string;
  readonly #runner: CellRunner;
  ids: KnownIds;

  constructor(runner: CellRunner, source: CliFolder | null = null) {
    this.#runner = runner;
    this.folder = runner.newFolder();
    if (source === null) writeCliFiles(this.folder);
    else cpSync(source.folder, this.folder, { recursive: true });
    this.ids = source?.ids ?? { run: "none", gate: "none" };
  }

  /** Runs a command; with `nth`, its process is killed at its nth write. */
  async runCommand(command: CliCommand, nth = 0): Promise<CommandResult> {
    const preload = pathToFileURL(this.#runner.program("preload")).href;
    const args = ["--import", preload, join(compiledPackage, "cli/main.js"), ...command.args(this.ids), "--json"];
    const env = { WRIT_CRASH_WRITE: String(nth), WRIT_CRASH_COUNT: "yes", NO_COLOR: "1" };
    const { code, signal, stdout, stderr, stuck } = await waitForExit(this.#runner.start(args, env, this.folder));
    const printed = stdout === "" ? {} : (JSON.parse(stdout) as PrintedDocument);
    const { run_id, gates: [gate] = [] } = printed;
    this.ids = { run: run_id ?? this.ids.run, gate: gate?.gate_id ?? this.ids.gate };
    return { code, killed: signal === "SIGKILL" && !stuck, stuck, stderr };
  }

  /** Reads the final run and the effects in the world. */
  async end(scenario: CliScenario): Promise<ScenarioEnd> {
    const tenant = tenantOf(scenario);
    const { endsIn } = scenario;
    const file = endsIn === undefined ? storeFile(this.folder) : join(this.folder, endsIn);
    const effects = readEffects(this.folder);
    if (!existsSync(file)) return { sound: true, status: "no store", states: {}, effects };
    const store = openSqlite(file, { create: false });
    const engine = await createEngine({ store, tools: [], work: false });
    const as = { principal: { id: "ana", kind: "person", tenant } } as const;
    try {
      const { broken } = await engine.audit(as);
      const run = engine.run(this.ids.run, as);
      const status = await run.then((handle) => handle.now()).then(runState, unreadableState);
      return { sound: broken.length === 0, ...status, effects };
    } finally {
      await engine.close();
    }
  }

  /** Returns the files of the store that contain a text. */
  filesWith(text: string | undefined): readonly string[] {
    if (text === undefined) return [];
    const files = readdirSync(this.folder, { withFileTypes: true }).filter((file) => file.isFile());
    const names = files.map(({ name }) => name).filter((name) => name.startsWith(basename(storeFile(""))));
    return names.filter((name) => readFileSync(join(this.folder, name)).includes(text));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

function writeCliFiles(folder: string): void {
  writeFileSync(join(folder, "writ.config.mjs"), cliConfig(pathToFileURL(join(compiledPackage, "index.js")).href));
  for (const [name, steps] of Object.entries(cliPlans))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ plan_id: name, steps }));
}

function runState({ status, steps }: RunResult): Pick<ScenarioEnd, "status" | "states"> {
  const states = Object.entries(steps).map(([step, { state }]) => [step, state] as const);
  return { status, states: Object.fromEntries(states) };
}

function unreadableState(error: unknown): Pick<ScenarioEnd, "status" | "states"> {
  return { status: error instanceof FaultError ? error.fault.code : String(error), states: {} };
}

function readEffects(folder: string): readonly string[] {
  const world = join(folder, "world.txt");
  return existsSync(world) ? readFileSync(world, "utf8").trimEnd().split("\n") : [];
}

interface PrintedDocument {
  readonly run_id?: string;
  readonly gates?: readonly { readonly gate_id: string }[];
}

interface CommandResult {
  readonly code: number | null;
  readonly killed: boolean;
  readonly stuck: boolean;
  readonly stderr: string;
}

interface ScenarioEnd {
  readonly sound: boolean;
  /** The status of the run, or why it cannot be read. */
  readonly status: string;
  readonly states: Readonly<Record<string, string>>;
  readonly effects: readonly string[];
}

/** A scenario without kills: the folder before each command, the writes of each command, and the end. */
interface UndisturbedRun {
  readonly cliFolders: readonly CliFolder[];
  readonly writes: readonly number[];
  readonly end: ScenarioEnd;
}

/** Kills every command of a scenario at every chosen write, repeats it, continues, and compares the end. */
export async function runCliKillMatrix(
  runner: CellRunner,
  name: CliScenarioName,
  isSelected: (command: number, nth: number) => boolean,
  totals: PartTotals,
): Promise<void> {
  const scenario: CliScenario = cliScenarios[name];
  const { cliFolders, writes, end } = await runUndisturbed(runner, scenario);
  const cells = scenario.commands.flatMap((command, at) => {
    const places = Array.from({ length: command.isKilled ? (writes[at] ?? 0) : 0 }, (_, index) => ({
      at,
      nth: index + 1,
    }));
    return places.filter(({ nth }) => isSelected(at + 1, nth));
  });
  await mapConcurrently(cells, async ({ at, nth }) => {
    const cliFolder = new CliFolder(runner, cliFolders[at] as CliFolder);
    const { killed, findings, isInDoubt } = await runKilled(cliFolder, scenario, at, nth, end);
    totals.cells += killed ? 1 : 0;
    totals.kills += killed ? 1 : 0;
    totals.missed += killed ? 0 : 1;
    totals.in_doubt += isInDoubt ? 1 : 0;
    addFindings(totals, `process:${name}@${at + 1}#${nth}`, findings);
    cliFolder.remove();
  });
  for (const cliFolder of cliFolders) cliFolder.remove();
}

async function runUndisturbed(runner: CellRunner, scenario: CliScenario): Promise<UndisturbedRun> {
  const cliFolders: CliFolder[] = [];
  const writes: number[] = [];
  let cliFolder = new CliFolder(runner);
  for (const command of scenario.commands) {
    cliFolders.push(cliFolder);
    cliFolder = new CliFolder(runner, cliFolder);
    const { stderr } = await cliFolder.runCommand(command);
    writes.push(Number(/writes (\d+)\n$/.exec(stderr)?.[1] ?? 0));
  }
  const end = await cliFolder.end(scenario);
  cliFolder.remove();
  return { cliFolders, writes, end };
}

async function runKilled(cliFolder: CliFolder, scenario: CliScenario, at: number, nth: number, expected: ScenarioEnd) {
  const { commands } = scenario;
  const findings: CrashFinding[] = [];
  const first = commands[at] as CliCommand;
  const [{ killed, stuck }, twin] = await Promise.all([
    cliFolder.runCommand(first, nth),
    first.hasTwin === true ? cliFolder.runCommand(first) : null,
  ]);
  if (stuck) findings.push({ kind: "stuck", what: "hangs before its kill" });
  if (twin !== null) findings.push(...checkCommand(cliFolder, first, twin));
  for (const command of commands.slice(at)) {
    const result = await cliFolder.runCommand(command);
    findings.push(...checkCommand(cliFolder, command, result));
  }
  const end = await cliFolder.end(scenario);
  findings.push(...compareEnds(end, expected));
  return { killed, findings, isInDoubt: isAnyInDoubt(end) };
}

/** Returns the findings about a command that was not killed. */
function checkCommand(
  cliFolder: CliFolder,
  command: CliCommand,
  { stuck, code, stderr }: CommandResult,
): readonly CrashFinding[] {
  const args = command.args(cliFolder.ids).join(" ");
  if (stuck) return [{ kind: "stuck", what: `hangs beside or after a killed process: ${args}` }];
  const isAllowed = (command.codes ?? allowedCodes).includes(code ?? -1);
  const files = cliFolder.filesWith(command.erases);
  return [
    ...(isAllowed ? [] : [{ kind: "untrue", what: `${args}: ${stderr}` } as const]),
    ...files.map((file) => ({ kind: "untrue", what: `${args}: ${file} still contains ${command.erases}` }) as const),
  ];
}

/** Exit codes of a repeated command: done, no longer possible, waiting, or failed as expected. */
const allowedCodes: readonly number[] = [0, 2, 3, 4];

function compareEnds(end: ScenarioEnd, expected: ScenarioEnd): readonly CrashFinding[] {
  const description = JSON.stringify(end);
  const distinct = new Set(end.effects);
  if (distinct.size < end.effects.length) return [{ kind: "twice", what: description }];
  if (!end.sound) return [{ kind: "untrue", what: `the journal is broken: ${description}` }];
  if (isAnyInDoubt(end)) return [];
  if (expected.effects.some((effect) => !distinct.has(effect))) return [{ kind: "lost", what: description }];
  const same = JSON.stringify([expected.status, expected.states]) === JSON.stringify([end.status, end.states]);
  return same ? [] : [{ kind: "untrue", what: `${description} instead of ${JSON.stringify(expected)}` }];
}

function isAnyInDoubt({ states }: ScenarioEnd): boolean {
  return Object.values(states).includes("in_doubt");
}

function tenantOf({ commands }: CliScenario): string {
  const args = commands.flatMap((command) => command.args({ run: "", gate: "" }));
  return args.includes("free") ? "free" : "default";
}
