import type { Principal } from "../../core/approval/principal.ts";
import type { CommandOf } from "../../core/decide/command.ts";
import type { LeftAct } from "../../core/event/left-act.ts";
import type { SessionSegment } from "../../core/event/session.ts";
import { sessionKey } from "../../core/evolve/event-rows.ts";
import { inheritedActs } from "../../core/run/branch-acts.ts";
import type { Run } from "../../core/run/run.ts";
import type { StoredRow } from "../../core/store/store.ts";
import type { RequestRow, RunRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest, Instant, RunId } from "../../core/values/ids.ts";
import { labelFields } from "../api/label-problems.ts";
import type { OpenRunOptions } from "../api/open-run-api.ts";
import { leaveSubAgents } from "../call/leave-sub-agents.ts";
import { ConditionFailedError } from "../journal/append-errors.ts";
import { newRun } from "../journal/load-run.ts";
import { RunMailbox } from "../journal/run-mailbox.ts";
import { loadRunUnlessErased } from "../messages/find-run-of-request.ts";
import { submissionMode } from "../messages/submission-mode.ts";
import { ownRules } from "../messages/submit-run.ts";
import { currentRun, tellSubAgent } from "../messages/tell-left-acts.ts";
import { digestOfJson } from "../ports/digest.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import {
  type DelegatedCall,
  inheritedTerms,
  readParentCall,
  recordDelegation,
  rootSession,
  subAgentRunId,
} from "./parent-call.ts";

export interface OpenedSession {
  readonly id: RunId;
  /** True: the session had an open run. */
  readonly attached: boolean;
}

/** Returns the open run of a session. If it has none, accepts the next run of the session. */
export async function openSession(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  principal: Principal,
  options: OpenRunOptions,
): Promise<OpenedSession> {
  const { session, subject } = options;
  const call =
    options.parent === undefined ? null : await readParentCall(ports, leasedRuns, principal, options.parent, options);
  const project = options.project ?? call?.run.project ?? undefined;
  const opened = subject === undefined ? {} : { opened: { subject } };
  const key = sessionKey(principal.id, { ...(project !== undefined && { project }), session, ...opened });
  for (;;) {
    const row = await ports.store.row(principal.tenant, "request", key);
    const found = row === null ? null : await findOpenRun(ports, principal, row, options);
    if (found !== null) {
      if (call !== null) await tellSubAgent(ports, leasedRuns, call.run, found);
      return { id: found, attached: true };
    }
    const last = row === null ? null : await readSegment(ports, principal, row);
    if (last?.run?.open) {
      assertSame(last.run, last.digest, options);
      return { id: last.run.id, attached: true };
    }
    const id = segmentId(ports, call, (last?.segment ?? 0) + 1);
    const above = call === null ? [] : await recordDelegation(ports, leasedRuns, call, id);
    const left = [...above, ...(await actsLeftBefore(leasedRuns, last?.run ?? null))];
    if (await acceptSegment(ports, principal, options, { id, last, call, left })) {
      // A branch above that did not find the run is known to the run above by now.
      if (call !== null) await tellSubAgent(ports, leasedRuns, await currentRun(ports, leasedRuns, call.run), id);
      return { id, attached: false };
    }
  }
}

/** Returns the run of a session if its row shows that it is open on these terms: the lease of the run reads it. */
async function findOpenRun(
  { store }: WorkerPorts,
  { tenant }: Principal,
  { row }: StoredRow,
  options: OpenRunOptions,
): Promise<RunId | null> {
  const { run_id, digest } = JSON.parse(row) as RequestRow;
  if (digestOfJson(fixedTerms(options)) !== digest) return null;
  const stored = await store.row(tenant, "run", run_id);
  return stored !== null && (JSON.parse(stored.row) as RunRow).status === "open" ? run_id : null;
}

function segmentId(ports: WorkerPorts, call: DelegatedCall | null, segment: number): RunId {
  return call === null ? (ports.newId("run", ports.clock.now()) as RunId) : subAgentRunId(call, segment);
}

/** The last run of a session. `run` is null if retention has erased it. */
interface LastSegment {
  readonly run: Run | null;
  readonly run_id: RunId;
  readonly segment: number;
  readonly digest: Digest;
}

async function readSegment(ports: WorkerPorts, principal: Principal, row: StoredRow): Promise<LastSegment> {
  const { run_id, digest } = JSON.parse(row.row) as RequestRow;
  return { run: await loadRunUnlessErased(ports, principal, run_id), run_id, segment: row.version, digest };
}

/** Returns the acts that branches of a full run have left. They hold acts of the run that takes its calls. */
async function actsLeftBefore(leasedRuns: LeasedRuns, full: Run | null): Promise<readonly LeftAct[]> {
  if (full === null || !full.closed?.continues) return [];
  const acts = [...inheritedActs(full)];
  await leaveSubAgents(full, leasedRuns.childRuns, async (make) => acts.push(...make(full.accepted_at).acts));
  return acts;
}

/** The first opening of a run fixes these. A later opening with other values is a mistake of the caller. */
function fixedTerms({ agent, mode, deadlineMs, parent }: OpenRunOptions) {
  const terms = {
    agent: agent === undefined ? null : { ...agent },
    mode: mode ?? null,
    deadlineMs: deadlineMs ?? null,
  };
  return parent === undefined ? terms : { ...terms, parent: { ...parent } };
}

function assertSame(run: Run, digest: Digest, options: OpenRunOptions): void {
  if (digestOfJson(fixedTerms(options)) === digest) return;
  const differs = differingTerm(run, options);
  const what = differs === "terms" ? "mode or deadline" : differs;
  const message = `session ${run.session} was opened with another ${what} (run ${run.id}); close it first, or open it as before`;
  throw new FaultError(fault("SESSION_DIFFERS", message, { run_id: run.id, differs }));
}

function differingTerm({ opened, parent }: Run, options: OpenRunOptions): "agent" | "parent" | "terms" {
  const given = fixedTerms(options);
  const agent = opened?.agent === undefined ? null : { ...opened.agent };
  if (digestOfJson(agent) !== digestOfJson(given.agent)) return "agent";
  const { runId, stepId } = options.parent ?? {};
  return runId === parent?.run_id && stepId === parent?.step_id ? "terms" : "parent";
}

/** The run that a session gets next. */
interface NextSegment {
  readonly id: RunId;
  readonly last: LastSegment | null;
  /** The call that the session does as a sub-agent, or null. */
  readonly call: DelegatedCall | null;
  /** The acts that branches have left before the run. */
  readonly left: readonly LeftAct[];
}

/** Accepts the next run of a session. False: another process has opened the session meanwhile. */
async function acceptSegment(
  ports: WorkerPorts,
  principal: Principal,
  options: OpenRunOptions,
  next: NextSegment,
): Promise<boolean> {
  const mailbox = new RunMailbox(ports, newRun(principal.tenant, next.id), null);
  const command = acceptCommand(ports, principal, options, next);
  ports.failpoint("accept.before");
  try {
    await mailbox.ask(() => command);
  } catch (error) {
    if (error instanceof ConditionFailedError && isRequestRow(error.landing)) return false;
    throw error;
  }
  ports.failpoint("accept.after");
  // The call was cancelled, or is done by another session.
  if (mailbox.run.opened === null || mailbox.run.session !== options.session)
    throw new FaultError(fault("NOT_POSSIBLE", `run ${next.id} of the call is not that of session ${options.session}`));
  return true;
}

function isRequestRow(landing: ConditionFailedError["landing"]): boolean {
  return landing.why === "row" && landing.table === "request";
}

function acceptCommand(
  ports: WorkerPorts,
  principal: Principal,
  options: OpenRunOptions,
  { id, last, call, left }: NextSegment,
): CommandOf<"accept"> {
  const now = ports.clock.now();
  const mode = submissionMode(ports, principal, options);
  if (mode === "dry_run")
    throw new FaultError(fault("MODE_FORBIDS", `tenant ${principal.tenant} or this request is dry_run`));
  const { session, project, subject, agent, deadlineMs, idleMs } = options;
  const deadline_at = deadlineMs === undefined ? null : ((now + deadlineMs) as Instant);
  const opened: SessionSegment = {
    segment: (last?.segment ?? 0) + 1,
    digest: digestOfJson(fixedTerms(options)),
    ...(last !== null && { previous: last.run_id }),
    ...(subject !== undefined && { subject }),
    ...(agent !== undefined && { agent }),
    ...(idleMs !== undefined && { idle_ms: idleMs }),
    ...(call !== null && rootSession(call)),
    ...(left.length > 0 && { left }),
  };
  return {
    type: "accept",
    now,
    run_id: id,
    origin: last?.run?.origin ?? id,
    principal,
    mode,
    plan: null,
    context: {},
    request: null,
    tools: {},
    deadline_at,
    ...(project !== undefined && { project }),
    session,
    ...labelFields(options),
    opened,
    rules: ownRules(ports, principal.tenant),
    correlation_id: id,
    trace_id: options.traceId ?? id,
    ...(call !== null && inheritedTerms(call, { mode, deadline_at })),
  };
}
