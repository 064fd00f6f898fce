import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { FaultError } from "../src/core/fault.ts";
import type { RunResult } from "../src/core/result.ts";
import { createEngine } from "../src/engine/engine.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { dist } from "./bundle.ts";
import { configFor, type Known, plans, type Story, type StoryName, stories, type Typed } from "./commands.ts";
import { inTurns } from "./in-turns.ts";
import type { Finding } from "./judge.ts";
import { ended } from "./life.ts";
import type { Stage } from "./stage.ts";
import { storeFile } from "./store-files.ts";
import { found, type Tally } from "./tally.ts";

/** The built command line, in a folder as a user has it, with a process that can die at any of its writes. */
class Desk {
  readonly folder: string;
  readonly #stage: Stage;
  known: Known;

  constructor(stage: Stage, like: Desk | null = null) {
    this.#stage = stage;
    this.folder = stage.newFolder();
    if (like === null) furnish(this.folder);
    else cpSync(like.folder, this.folder, { recursive: true });
    this.known = like?.known ?? { run: "none", gate: "none" };
  }

  /** Types a command; with `nth`, its process dies at its nth write. */
  async type(command: Typed, nth = 0): Promise<Answer> {
    const preload = pathToFileURL(this.#stage.program("preload")).href;
    const args = ["--import", preload, join(dist, "cli/main.js"), ...command.args(this.known), "--json"];
    const env = { WRIT_CRASH_WRITE: String(nth), WRIT_CRASH_COUNT: "yes", NO_COLOR: "1" };
    const { code, signal, stdout, stderr, stuck } = await ended(this.#stage.start(args, env, this.folder));
    const said = stdout === "" ? {} : (JSON.parse(stdout) as Document);
    const { run_id, gates: [gate] = [] } = said;
    this.known = { run: run_id ?? this.known.run, gate: gate?.gate_id ?? this.known.gate };
    return { code, killed: signal === "SIGKILL" && !stuck, stuck, stderr };
  }

  /** What is on the record in the end, and what the world has seen. */
  async ending(tenant: string): Promise<Ending> {
    const store = sqlite(storeFile(this.folder));
    const engine = await createEngine({ store, tools: [], work: false });
    const as = { principal: { id: "ana", kind: "person", tenant } } as const;
    try {
      const { broken } = await engine.audit(as);
      const run = engine.run(this.known.run, as);
      const status = await run.then((handle) => handle.now()).then(standing, unreadable);
      return { sound: broken.length === 0, ...status, effects: effectsIn(this.folder) };
    } finally {
      await engine.close();
    }
  }

  clear(): void {
    rmSync(this.folder, { recursive: true });
  }
}

function furnish(folder: string): void {
  writeFileSync(join(folder, "writ.config.mjs"), configFor(pathToFileURL(join(dist, "index.js")).href));
  for (const [name, steps] of Object.entries(plans))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ plan_id: name, steps }));
}

function standing({ status, steps }: RunResult): Pick<Ending, "status" | "states"> {
  const states = Object.entries(steps).map(([step, { state }]) => [step, state] as const);
  return { status, states: Object.fromEntries(states) };
}

function unreadable(error: unknown): Pick<Ending, "status" | "states"> {
  return { status: error instanceof FaultError ? error.fault.code : String(error), states: {} };
}

function effectsIn(folder: string): readonly string[] {
  const world = join(folder, "world.txt");
  return existsSync(world) ? readFileSync(world, "utf8").trimEnd().split("\n") : [];
}

interface Document {
  readonly run_id?: string;
  readonly gates?: readonly { readonly gate_id: string }[];
}

interface Answer {
  readonly code: number | null;
  readonly killed: boolean;
  readonly stuck: boolean;
  readonly stderr: string;
}

interface Ending {
  readonly sound: boolean;
  /** Or the fault with which it cannot be read. */
  readonly status: string;
  readonly states: Readonly<Record<string, string>>;
  readonly effects: readonly string[];
}

/** Where a story stands before each of its commands, how many writes each makes, and what it comes to undisturbed. */
interface Rehearsed {
  readonly desks: readonly Desk[];
  readonly writes: readonly number[];
  readonly ending: Ending;
}

/** Kills every command of a story at every chosen write, types it again, goes on, and compares with the story undisturbed. */
export async function playStory(
  stage: Stage,
  name: StoryName,
  chosen: (command: number, nth: number) => boolean,
  tally: Tally,
): Promise<void> {
  const story: Story = stories[name];
  const { desks, writes, ending } = await rehearsed(stage, story);
  const cells = story.commands.flatMap((command, at) => {
    const places = Array.from({ length: command.dies ? (writes[at] ?? 0) : 0 }, (_, index) => ({ at, nth: index + 1 }));
    return places.filter(({ nth }) => chosen(at + 1, nth));
  });
  await inTurns(cells, async ({ at, nth }) => {
    const desk = new Desk(stage, desks[at] as Desk);
    const { killed, findings, doubted } = await disturbed(desk, story, at, nth, ending);
    tally.cells += killed ? 1 : 0;
    tally.kills += killed ? 1 : 0;
    tally.missed += killed ? 0 : 1;
    tally.in_doubt += doubted ? 1 : 0;
    found(tally, `process:${name}@${at + 1}#${nth}`, findings);
    desk.clear();
  });
  for (const desk of desks) desk.clear();
}

async function rehearsed(stage: Stage, story: Story): Promise<Rehearsed> {
  const desks: Desk[] = [];
  const writes: number[] = [];
  let desk = new Desk(stage);
  for (const command of story.commands) {
    desks.push(desk);
    desk = new Desk(stage, desk);
    const { stderr } = await desk.type(command);
    writes.push(Number(/writes (\d+)\n$/.exec(stderr)?.[1] ?? 0));
  }
  const ending = await desk.ending(tenantOf(story));
  desk.clear();
  return { desks, writes, ending };
}

async function disturbed(desk: Desk, story: Story, at: number, nth: number, calm: Ending) {
  const { commands } = story;
  const findings: Finding[] = [];
  const { killed, stuck } = await desk.type(commands[at] as Typed, nth);
  if (stuck) findings.push({ kind: "stuck", what: "hangs before it is killed" });
  for (const command of commands.slice(at)) {
    const answer = await desk.type(command);
    const args = command.args(desk.known).join(" ");
    if (answer.stuck) findings.push({ kind: "stuck", what: `hangs when asked again: ${args}` });
    else if (!(command.codes ?? understood).includes(answer.code ?? -1))
      findings.push({ kind: "untrue", what: `${args}: ${answer.stderr}` });
  }
  const ending = await desk.ending(tenantOf(story));
  findings.push(...compared(ending, calm));
  return { killed, findings, doubted: isDoubted(ending) };
}

/** What a command may answer whose like was killed before: done, not possible any more, waiting, failed as it should. */
const understood: readonly number[] = [0, 2, 3, 4];

function compared(ending: Ending, calm: Ending): readonly Finding[] {
  const said = JSON.stringify(ending);
  const seen = new Set(ending.effects);
  if (seen.size < ending.effects.length) return [{ kind: "twice", what: said }];
  if (!ending.sound) return [{ kind: "untrue", what: `the record is broken: ${said}` }];
  if (isDoubted(ending)) return [];
  if (calm.effects.some((effect) => !seen.has(effect))) return [{ kind: "lost", what: said }];
  const same = JSON.stringify([calm.status, calm.states]) === JSON.stringify([ending.status, ending.states]);
  return same ? [] : [{ kind: "untrue", what: `${said} instead of ${JSON.stringify(calm)}` }];
}

function isDoubted({ states }: Ending): boolean {
  return Object.values(states).includes("in_doubt");
}

function tenantOf({ commands }: Story): string {
  const words = commands.flatMap((command) => command.args({ run: "", gate: "" }));
  return words.includes("free") ? "free" : "default";
}
