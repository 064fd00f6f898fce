import { verbRules } from "../../core/approval/verb-rules.ts";
import { isToolRequirement, missingWorker, requirementText } from "../../core/run/missing-worker.ts";
import { noticeRequirement } from "../../core/run/worker-requirements.ts";
import type { LiveWorker, Store } from "../../core/store/store.ts";
import type { TimerRow } from "../../core/store/tables.ts";
import type { Instant, RunId, Tenant, WorkerId } from "../../core/values/ids.ts";
import type { WaitingRun, WorkersReport, WorkerView } from "../api/workers-report.ts";
import { isRetentionJournal, isScheduleJournal } from "../journal/journal-names.ts";
import { listLeases, listRows } from "../journal/store-listing.ts";

/** The most waiting runs in a report. */
const WAITING_MAX = 1000;

/** Lists the live workers with the runs of the tenant that they hold, and the runs that no worker continues. */
export async function listWorkers(store: Store, tenant: Tenant, now: Instant): Promise<WorkersReport> {
  const live = await store.workers();
  const held = new Map<WorkerId, WorkerView["runs"][number][]>(live.map(({ worker }) => [worker, []]));
  const heldRuns = new Set<RunId>();
  for await (const { worker, run: run_id, queue, since, until } of listLeases(store, tenant)) {
    heldRuns.add(run_id);
    held.set(worker, [...(held.get(worker) ?? []), { run_id, queue, since, until }]);
  }
  const workers = Array.from(held, ([worker, runs]) => {
    return toWorkerView(worker, live.find((one) => one.worker === worker) ?? null, runs);
  });
  return { workers, waiting: await listWaitingRuns(store, tenant, { live, heldRuns, now }) };
}

function toWorkerView(worker: WorkerId, known: LiveWorker | null, runs: WorkerView["runs"]): WorkerView {
  const { version = null, host = null, pid = null } = known?.process ?? {};
  // Every worker has the tools of the verbs that a policy can hold.
  const tools = (known?.offers ?? []).filter((need) => isToolRequirement(need) && !isVerbRequirement(need));
  return {
    worker,
    version,
    host,
    pid,
    rules: known?.rules ?? null,
    tools: [...new Set(tools.map(requirementText))].sort(),
    notices: known?.offers.includes(noticeRequirement) ?? false,
    runs,
  };
}

function isVerbRequirement(need: string): boolean {
  return Object.hasOwn(verbRules, need.slice(0, need.indexOf("@")));
}

async function listWaitingRuns(
  store: Store,
  tenant: Tenant,
  {
    live,
    heldRuns,
    now,
  }: { readonly live: readonly LiveWorker[]; readonly heldRuns: ReadonlySet<RunId>; readonly now: Instant },
): Promise<readonly WaitingRun[]> {
  const waiting: WaitingRun[] = [];
  for await (const { key, row } of listRows(store, tenant, "timer")) {
    const run_id = key as RunId;
    const timer = JSON.parse(row) as TimerRow;
    if (isRetentionJournal(run_id) || isScheduleJournal(run_id)) continue;
    if (heldRuns.has(run_id) || !isWaiting(timer, now)) continue;
    const missing = missingWorker(timer, live);
    if (missing === null) continue;
    waiting.push({ run_id, rules: timer.rules ?? null, ...missing, needs: missing.needs.map(requirementText) });
    if (waiting.length === WAITING_MAX) break;
  }
  return waiting;
}

/** True if the run is due, or if it waits for a worker that meets its requirements. */
function isWaiting({ due_at, needs = [] }: TimerRow, now: Instant): boolean {
  return needs.length > 0 || (due_at !== null && due_at <= now);
}
