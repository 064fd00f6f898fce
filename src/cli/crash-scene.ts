import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Fault, FaultError, fault } from "../core/fault.ts";
import type { Json } from "../core/json/json.ts";
import { type CrashReport, scratchStore, victimName, writeTask } from "./crash-task.ts";
import { type CrashVerdict, type CrashWindow, crashVerdict, type Recorded } from "./crash-window.ts";
import { effectCount } from "./effect-count.ts";
import type { Host } from "./host.ts";
import { invalid } from "./invocation.ts";

/** One line of the table: where it was killed, what the world counted, what the record says. */
export interface CrashRow {
  readonly window: CrashWindow;
  readonly effects: number;
  readonly record: Recorded;
  readonly verdict: CrashVerdict;
  /** False: it would still have moved by itself, but nobody waited any longer. */
  readonly settled: boolean;
  readonly note: string | null;
  readonly run_id: string;
  /** Where the record can be looked at; null where there is nothing to look for. */
  readonly store: string | null;
}

/** What is the same for every window. */
export interface CrashScene {
  readonly host: Pick<Host, "cwd" | "env" | "program" | "stderr">;
  readonly tool: string;
  /** What to call it with: for each window anew, so that the world need not take six calls for one. */
  newInput(): Json;
  /** How long an act may take to come to rest. */
  readonly patienceMs: number;
  /** The user's counter. */
  readonly count: string;
  /** Which config and tenant, as arguments of this program. */
  readonly options: readonly string[];
  /** Everything the processes say is passed on. */
  readonly loud: boolean;
  readonly signal: AbortSignal;
  /** What hangs longer than its own patience hangs for ever. */
  readonly stuckMs: number;
}

/** Kills one act in one window, starts again, waits for rest, and compares the record with the world. */
export async function crashRow(scene: CrashScene, window: CrashWindow): Promise<CrashRow> {
  const { count, host, signal, tool, patienceMs } = scene;
  const folder = await mkdtemp(join(tmpdir(), "writ-crashtest-"));
  let keep = false;
  try {
    writeTask(folder, { tool, input: scene.newInput(), patience_ms: patienceMs });
    const before = await effectCount(count, { ...host, signal });
    const first = await victim(scene, folder, window);
    if (window !== "none" && !first.killed) throw notReached(tool, window, first.report);
    const { report } = await victim(scene, folder, "none");
    if (report === null) throw died(tool, "was killed by something else");
    const effects = (await effectCount(count, { ...host, signal })) - before;
    if (effects < 0) throw invalid(`--count ${count} went down by ${-effects}; give a counter that only goes up`);
    const { recorded: record, settled, note, run_id } = report;
    if (window === "none" && record === "not_started") throw notReached(tool, "its start", report);
    const verdict = crashVerdict(effects, record);
    keep = verdict !== "ok";
    return { window, effects, record, verdict, settled, note, run_id, store: keep ? scratchStore(folder) : null };
  } catch (error) {
    if (signal.aborted)
      throw new FaultError(
        fault("CANCELLED", `interrupted at ${window}; the call may or may not have been made there`),
        {
          cause: error,
        },
      );
    throw error;
  } finally {
    if (!keep) await rm(folder, { recursive: true, force: true });
  }
}

function notReached(tool: string, place: string, report: CrashReport | null): FaultError {
  const why = report?.note ?? report?.recorded ?? "it said nothing";
  return new FaultError(
    fault("NOT_POSSIBLE", `${tool} never came to ${place}: ${why}; see to it that the call can run`),
  );
}

interface Ended {
  /** True: it died in its window, as it should. */
  readonly killed: boolean;
  readonly report: CrashReport | null;
}

/** Runs one process to its end, whichever that is. */
async function victim(scene: CrashScene, folder: string, window: CrashWindow): Promise<Ended> {
  const { host, options, tool, loud, signal, stuckMs } = scene;
  const [node = process.execPath, ...program] = host.program;
  const kill = window === "none" ? [] : ["--kill", window];
  const args = [...program, victimName, folder, "--json", ...kill, ...options];
  const { cwd, env } = host;
  const child = spawn(node, args, { cwd, env, signal, killSignal: "SIGKILL", stdio: ["ignore", "pipe", "pipe"] });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    said.out = `${said.out}${String(chunk)}`.slice(-saidMax);
  });
  child.stderr.on("data", (chunk) => {
    said.err = `${said.err}${String(chunk)}`.slice(-saidMax);
    if (loud) host.stderr.write(chunk);
  });
  const { how, stuck } = await ended(child, stuckMs);
  if (stuck) throw died(tool, `hung for ${stuckMs} ms`);
  if (how === "SIGKILL") return { killed: true, report: null };
  return { killed: false, report: reportIn(said, tool, `ended by itself with ${how}`) };
}

async function ended(child: ChildProcess, stuckMs: number): Promise<{ readonly how: string; readonly stuck: boolean }> {
  let stuck = false;
  const timer = setTimeout(() => {
    stuck = child.kill("SIGKILL");
  }, stuckMs);
  try {
    return await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve({ how: signal ?? `exit code ${code}`, stuck }));
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Enough for a report and for the last words of a process that failed. */
const saidMax = 64 * 1024;

function reportIn(
  { out, err }: { readonly out: string; readonly err: string },
  tool: string,
  how: string,
): CrashReport {
  const last = out.trimEnd().split("\n").at(-1) ?? "";
  let document: CrashReport | { readonly fault: Fault };
  try {
    document = JSON.parse(last) as CrashReport | { readonly fault: Fault };
  } catch (cause) {
    throw died(tool, `${how}: ${err.trimEnd().split("\n").at(-1) || "it said nothing"}`, cause);
  }
  if ("fault" in document) throw new FaultError(document.fault);
  return document;
}

function died(tool: string, how: string, cause?: unknown): FaultError {
  return new FaultError(
    fault("TOOL_FAILED", `the process that ran ${tool} ${how}; run it again with --debug to see what it says`),
    { cause },
  );
}
