import type { Principal } from "../../core/approval/principal.ts";
import type { CommandOf } from "../../core/decide/command.ts";
import type { SessionSegment } from "../../core/event/session.ts";
import { sessionKey } from "../../core/evolve/event-rows.ts";
import type { Run } from "../../core/run/run.ts";
import type { StoredRow } from "../../core/store/store.ts";
import type { RequestRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest, Instant, RunId } from "../../core/values/ids.ts";
import type { OpenRunOptions } from "../api/session-api.ts";
import { ConditionFailedError } from "../journal/append-errors.ts";
import { newRun } from "../journal/load-run.ts";
import { RunMailbox } from "../journal/run-mailbox.ts";
import { loadRunUnlessErased } from "../messages/earlier-run.ts";
import { ownRules, submissionMode } from "../messages/submit-run.ts";
import { digestOfJson } from "../ports/digest.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

export interface OpenedSession {
  readonly id: RunId;
  /** True: the session had an open run. */
  readonly attached: boolean;
}

/** Returns the open run of a session. If it has none, accepts the next run of the session. */
export async function openSession(
  ports: WorkerPorts,
  principal: Principal,
  options: OpenRunOptions,
): Promise<OpenedSession> {
  const { project, session, subject } = options;
  const opened = subject === undefined ? {} : { opened: { subject } };
  const key = sessionKey(principal.id, { ...(project !== undefined && { project }), session, ...opened });
  for (;;) {
    const row = await ports.store.row(principal.tenant, "request", key);
    const last = row === null ? null : await readSegment(ports, principal, row);
    if (last?.run?.open) {
      assertSame(last.run, last.digest, options);
      return { id: last.run.id, attached: true };
    }
    const id = await acceptSegment(ports, principal, options, last);
    if (id !== null) return { id, attached: false };
  }
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

/** The first opening of a run fixes these. A later opening with other values is a mistake of the caller. */
function fixedTerms({ agent, mode, deadlineMs }: OpenRunOptions) {
  return { agent: agent === undefined ? null : { ...agent }, mode: mode ?? null, deadlineMs: deadlineMs ?? null };
}

function assertSame(run: Run, digest: Digest, options: OpenRunOptions): void {
  const { agent, mode, deadlineMs } = fixedTerms(options);
  if (digestOfJson({ agent, mode, deadlineMs }) === digest) return;
  const ours = run.opened?.agent ?? null;
  const agentDiffers = digestOfJson(ours === null ? null : { ...ours }) !== digestOfJson(agent);
  const what = agentDiffers ? "another agent" : "another mode or deadline";
  const message = `session ${run.session} was opened with ${what} (run ${run.id}); close it first, or open it as before`;
  throw new FaultError(
    fault("SESSION_DIFFERS", message, { run_id: run.id, differs: agentDiffers ? "agent" : "terms" }),
  );
}

/** Accepts the next run of a session. Null: another process has opened the session meanwhile. */
async function acceptSegment(
  ports: WorkerPorts,
  principal: Principal,
  options: OpenRunOptions,
  last: LastSegment | null,
): Promise<RunId | null> {
  const now = ports.clock.now();
  const id = ports.newId("run", now) as RunId;
  const mailbox = new RunMailbox(ports, newRun(principal.tenant, id), null);
  const command = acceptCommand(ports, principal, options, { id, last, now });
  ports.failpoint("accept.before");
  try {
    await mailbox.ask(() => command);
  } catch (error) {
    if (error instanceof ConditionFailedError && isRequestRow(error.landing)) return null;
    throw error;
  }
  ports.failpoint("accept.after");
  return id;
}

function isRequestRow(landing: ConditionFailedError["landing"]): boolean {
  return landing.why === "row" && landing.table === "request";
}

function acceptCommand(
  ports: WorkerPorts,
  principal: Principal,
  options: OpenRunOptions,
  { id, last, now }: { readonly id: RunId; readonly last: LastSegment | null; readonly now: Instant },
): CommandOf<"accept"> {
  const mode = submissionMode(ports, principal, options);
  if (mode === "dry_run")
    throw new FaultError(fault("MODE_FORBIDS", `tenant ${principal.tenant} or this request is dry_run`));
  const { session, project, subject, agent, deadlineMs } = options;
  const opened: SessionSegment = {
    segment: (last?.segment ?? 0) + 1,
    digest: digestOfJson(fixedTerms(options)),
    ...(last !== null && { previous: last.run_id }),
    ...(subject !== undefined && { subject }),
    ...(agent !== undefined && { agent }),
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
    deadline_at: deadlineMs === undefined ? null : ((now + deadlineMs) as Instant),
    ...(project !== undefined && { project }),
    session,
    opened,
    rules: ownRules(ports, principal.tenant),
    correlation_id: id,
    trace_id: id,
  };
}
