import { verbReach } from "../../core/approval/judge-verb.ts";
import { stateBounds } from "../../core/approval/principal.ts";
import { addedSteps } from "../../core/event/added-steps.ts";
import type { Event } from "../../core/event/event.ts";
import { rowTag } from "../../core/store/row-tags.ts";
import type { RunCost, RunRow } from "../../core/store/tables.ts";
import type { Cost } from "../../core/tool/tool.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId, StepId, Tenant } from "../../core/values/ids.ts";
import type { ToolActivity, ToolActivityOptions, ToolActivityReport } from "../api/activity-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { requestLimits } from "../api/request-limits.ts";
import { JournalCodec } from "../journal/journal-codec.ts";
import { readEventPages } from "../journal/load-run.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { assertFilters, readListPage } from "./list-page.ts";

/** Reports the calls of tools in the latest runs. It reads a limited number of events, newest run first. */
export async function reportToolActivity(
  { store }: WorkerPorts,
  options: ToolActivityOptions,
): Promise<ToolActivityReport> {
  const principal = readPrincipal(options.principal);
  const { tool, project, runs: most = requestLimits.activityRuns / 10 } = options;
  assertFilters({ tool, project });
  if (!Number.isSafeInteger(most) || most < 1 || most > requestLimits.activityRuns)
    throw new FaultError(fault("INVALID_INPUT", `runs must be a whole number, 1 to ${requestLimits.activityRuns}`));
  const isOwn = verbReach(principal, "tools.activity") !== "tenant" || stateBounds(principal).length > 0;
  const tags = [
    ...(isOwn ? [rowTag("principal", principal.id)] : []),
    ...(tool === undefined ? [] : [rowTag("tools", tool)]),
    ...(project === undefined ? [] : [rowTag("project", project)]),
  ];
  const search = { table: "run", tags, limit: most } as const;
  const { rows, next } = await readListPage<RunRow>(store, principal.tenant, search);
  const counts = new Map<string, CallCounts>();
  let [runs, events] = [0, 0];
  for (const { run_id } of rows) {
    if (events >= requestLimits.activityEvents) break;
    events += await countRun(store, principal.tenant, run_id, counts);
    runs += 1;
  }
  const tools = [...counts].filter(([name]) => tool === undefined || name === tool).map(toToolActivity);
  tools.sort((one, other) => (one.tool < other.tool ? -1 : 1));
  const since = rows[runs - 1]?.accepted_at ?? null;
  return { runs, events, since, complete: runs === rows.length && next === null, tools };
}

/** The counts of one tool in the runs that were read. */
interface CallCounts {
  succeeded: number;
  failed: number;
  doubted: number;
  refused: number;
  reused: number;
  last_at: Instant;
  last_run: RunId;
  readonly elapsed: number[];
  readonly spent: { -readonly [Unit in keyof RunCost]: number };
}

/** Counts the calls of a run. Returns the number of its events that were read. */
async function countRun(
  store: WorkerPorts["store"],
  tenant: Tenant,
  run: RunId,
  counts: Map<string, CallCounts>,
): Promise<number> {
  const journal = new JournalCodec(tenant, run);
  const toolOf = new Map<StepId, string>();
  let read = 0;
  for await (const page of readEventPages(store, tenant, run)) {
    read += page.length;
    for (const stored of page) {
      // Retention has erased the bodies of this run.
      if (stored.body === null) return read;
      if (!countedTypes.has(stored.type)) continue;
      countEvent(await journal.open(stored, store), run, toolOf, counts);
    }
    if (read >= requestLimits.activityEvents) return read;
  }
  return read;
}

const countedTypes = new Set<string>([
  "run.accepted",
  "run.replanned",
  "step.proposed",
  "step.succeeded",
  "step.failed",
  "step.doubted",
  "step.rejected",
] satisfies readonly Event["type"][]);

function countEvent(event: Event, run: RunId, toolOf: Map<StepId, string>, counts: Map<string, CallCounts>): void {
  for (const { step_id, name } of addedSteps(event)) toolOf.set(step_id, name);
  if (!("step_id" in event)) return;
  const tool = toolOf.get(event.step_id);
  if (tool === undefined || event.type === "step.proposed") return;
  const of = counts.get(tool) ?? newCounts(run);
  counts.set(tool, of);
  if (event.at >= of.last_at) Object.assign(of, { last_at: event.at, last_run: run });
  if (event.type === "step.rejected") of.refused += 1;
  if (event.type === "step.doubted" && event.alive === undefined) of.doubted += 1;
  if (event.type === "step.succeeded" && event.reused !== undefined) of.reused += 1;
  else if (event.type === "step.succeeded" || event.type === "step.failed") {
    if (event.type === "step.succeeded") of.succeeded += 1;
    else of.failed += 1;
    of.elapsed.push(Math.max(0, event.at - event.started_at));
  }
  if ("cost" in event && event.cost !== undefined) addCost(of.spent, event.cost);
}

function newCounts(last_run: RunId): CallCounts {
  const none = { succeeded: 0, failed: 0, doubted: 0, refused: 0, reused: 0 };
  return { ...none, last_at: 0 as Instant, last_run, elapsed: [], spent: {} };
}

const costFields = ["usd_micros", "credits", "tokens_in", "tokens_out"] as const;

function addCost(spent: CallCounts["spent"], cost: Cost): void {
  for (const field of costFields) if (cost[field] !== 0) spent[field] = (spent[field] ?? 0) + cost[field];
}

function toToolActivity([tool, { elapsed, ...counts }]: readonly [string, CallCounts]): ToolActivity {
  const sorted = elapsed.toSorted((one, other) => one - other);
  const { succeeded, failed, doubted } = counts;
  return {
    tool,
    calls: succeeded + failed + doubted,
    ...counts,
    p50_ms: percentile(sorted, 0.5),
    p95_ms: percentile(sorted, 0.95),
  };
}

/** Returns the smallest value that at least this share of the sorted values does not exceed. */
function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? null;
}
