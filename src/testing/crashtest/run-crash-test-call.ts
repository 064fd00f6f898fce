import type { RunResult } from "../../core/run/run-result.ts";
import type { Store } from "../../core/store/store.ts";
import type { LedgerRow, LedgerState } from "../../core/store/tables.ts";
import type { Tenant } from "../../core/values/ids.ts";
import type { EngineOptions, PrincipalInput, RunHandle } from "../../engine/api/engine-api.ts";
import { createEngine } from "../../engine/engine.ts";
import { sqlite } from "../../store/sqlite/sqlite-store.ts";
import { crashTestStorePath, readTask } from "./crash-task.ts";
import { type CrashWindow, type RecordedOutcome, recordedOutcome } from "./crash-window.ts";

const stepId = "call";

export interface CrashTestCallOptions
  extends Pick<EngineOptions, "tools" | "guards" | "limits" | "durability" | "slices" | "resources"> {
  /** The folder that `runCrashTest` gave to the process. */
  readonly folder: string;
  /** The point at which the process kills itself with SIGKILL. */
  readonly kill: CrashWindow;
  readonly principal: PrincipalInput;
}

/** The recorded outcome of the call, when the run cannot continue by itself or the time limit is reached. */
export interface CrashTestReport {
  readonly run_id: string;
  readonly recorded: RecordedOutcome;
  /** False if the run could still continue by itself when the time for it was over. */
  readonly settled: boolean;
  /** Why the act did not simply succeed, or null. */
  readonly note: string | null;
}

/**
 * Makes the call of a crash test, in the process that is killed: submits it, or continues it, on the temporary store in
 * `folder`. Returns the report that the process prints as the last line of its stdout, as JSON.
 */
export async function runCrashTestCall(options: CrashTestCallOptions): Promise<CrashTestReport> {
  const { folder, kill, principal, ...settings } = options;
  const { tool, input, patience_ms } = readTask(folder);
  const store = await sqlite(crashTestStorePath(folder));
  const engine = await createEngine({
    ...settings,
    store,
    tenants: { [principal.tenant]: { mode: "auto_exec" } },
    failpoint: (point) => void (point === kill && process.kill(process.pid, "SIGKILL")),
  });
  try {
    const plan = { steps: [{ step_id: stepId, name: tool, payload: input }] };
    const handle = await engine.submit(plan, { principal, requestKey: folder });
    const result = await restWithin(patience_ms, handle);
    const ledger = await ledgerState(store, principal.tenant as Tenant, handle.run_id);
    const recorded = recordedOutcome(result.steps[stepId]?.state ?? "pending", ledger);
    return { run_id: result.run_id, recorded, settled: isSettled(result), note: outcomeNote(result) };
  } finally {
    await engine.close();
  }
}

/** Waits while the run can continue by itself, for instance to verify or to retry, and at most for this time. */
async function restWithin(ms: number, handle: RunHandle): Promise<RunResult> {
  const late = new AbortController();
  const tooLate = new Promise<void>((done) => late.signal.addEventListener("abort", () => done(), { once: true }));
  const timer = setTimeout(() => late.abort(), ms);
  try {
    for (;;) {
      const after = await lastPosition(handle);
      const result = await Promise.race([handle.result(), tooLate.then(() => handle.now())]);
      if (isSettled(result) || late.signal.aborted) return result;
      for await (const _ of handle.events({ after, follow: true, signal: late.signal })) break;
    }
  } finally {
    clearTimeout(timer);
  }
}

async function lastPosition(handle: RunHandle): Promise<number> {
  let last = 0;
  for await (const { position } of handle.events()) last = position;
  return last;
}

/** True if only a person can move the run. */
function isSettled({ final, steps, blocked_on }: RunResult): boolean {
  return final || (steps[stepId]?.state !== "running" && blocked_on.every(({ until }) => until === undefined));
}

async function ledgerState(store: Store, tenant: Tenant, run: string): Promise<LedgerState | null> {
  const rows = await store.list(tenant, { table: "ledger", order: "oldest", limit: 100 });
  const own = rows
    .map(({ row }) => JSON.parse(row) as LedgerRow)
    .find(({ run_id, step_id }) => run_id === run && step_id === stepId);
  return own?.state ?? null;
}

function outcomeNote({ steps, gates, blocked_on }: RunResult): string | null {
  const step = steps[stepId];
  const block = blocked_on.find(({ step_id }) => step_id === stepId);
  const [gate] = gates;
  if (step?.state === "in_doubt")
    return block?.until === undefined
      ? "needs a person"
      : `not settled yet, verified again at ${new Date(block.until).toISOString()}`;
  if (gate !== undefined) return `held: ${gate.reason}`;
  return step?.fault !== undefined ? `${step.fault.code}: ${step.fault.message}` : null;
}
