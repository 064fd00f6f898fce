import { resolve } from "node:path";
import { Command, Option } from "commander";
import type { Tenant } from "../../core/id.ts";
import type { RunResult } from "../../core/result.ts";
import type { LedgerRow, LedgerState } from "../../core/rows.ts";
import type { Store } from "../../core/store.ts";
import type { RunHandle } from "../../engine/api.ts";
import { createEngine } from "../../engine/engine.ts";
import { sqlite } from "../../store/sqlite/sqlite-store.ts";
import { type CrashReport, readTask, scratchStore, victimName } from "../crash-task.ts";
import { crashWindows, recordedOf } from "../crash-window.ts";
import { positionOf } from "../following.ts";
import type { Invocation } from "../invocation.ts";
import { configWithTools, proposerOf } from "../opening.ts";
import { timeText } from "../result-text.ts";

const stepId = "call";

/**
 * The process that `writ crashtest` kills: submits the one call, or takes it up again, on the scratch store beside its
 * task and on no other, and reports how the record stands at rest.
 */
export function crashtestVictimCommand(invocation: Invocation): Command {
  const command = new Command(victimName)
    .argument("<folder>")
    .addOption(new Option("--kill <window>").choices(Object.keys(crashWindows)));
  return invocation.does<{ readonly kill?: string }>(command, async ([given = ""], { kill, ...options }) => {
    const { cwd } = invocation.host;
    const folder = resolve(cwd, given);
    const { tool, input, patience_ms } = readTask(folder);
    const config = await configWithTools(options, cwd);
    const { tools, guards = [], limits = {}, durability = "power" } = config;
    const principal = proposerOf(options, config);
    const store = sqlite(scratchStore(folder));
    const engine = await createEngine({
      ...{ store, tools, guards, limits, durability },
      tenants: { [principal.tenant]: { mode: "auto_exec" } },
      failpoint: (point) => void (point === kill && process.kill(process.pid, "SIGKILL")),
    });
    try {
      const plan = { steps: [{ step_id: stepId, name: tool, payload: input }] };
      const handle = await engine.submit(plan, { principal, requestKey: folder });
      const result = await restedWithin(patience_ms, handle);
      const ledger = await ledgerState(store, principal.tenant as Tenant, handle.run_id);
      invocation.terminal.document(reportOf(result, ledger));
      return 0;
    } finally {
      await engine.close();
    }
  });
}

/** Waits as long as the run moves by itself: a doubt to be looked at again, another try to come. */
async function restedWithin(ms: number, handle: RunHandle): Promise<RunResult> {
  const late = new AbortController();
  const tooLate = new Promise<void>((done) => late.signal.addEventListener("abort", () => done(), { once: true }));
  const timer = setTimeout(() => late.abort(), ms);
  try {
    for (;;) {
      const after = await positionOf(handle);
      const result = await Promise.race([handle.result(), tooLate.then(() => handle.now())]);
      if (isSettled(result) || late.signal.aborted) return result;
      for await (const _ of handle.events({ after, follow: true, signal: late.signal })) break;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Nothing but a person can move it now. */
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

function reportOf(result: RunResult, ledger: LedgerState | null): CrashReport {
  const state = result.steps[stepId]?.state ?? "pending";
  const recorded = recordedOf(state, ledger);
  return { run_id: result.run_id, recorded, settled: isSettled(result), note: noteOf(result) };
}

function noteOf({ steps, gates, blocked_on }: RunResult): string | null {
  const step = steps[stepId];
  const block = blocked_on.find(({ step_id }) => step_id === stepId);
  const [gate] = gates;
  if (step?.state === "in_doubt")
    return block?.until === undefined
      ? "needs a person"
      : `not settled yet, looked for again at ${timeText(block.until)}`;
  if (gate !== undefined) return `held: ${gate.reason}`;
  return step !== undefined && "fault" in step ? `${step.fault.code}: ${step.fault.message}` : null;
}
