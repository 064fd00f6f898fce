import type { Event, Notice } from "../event/event.ts";
import type { ActNaming, BranchId, LeftAct } from "../event/left-act.ts";
import type { Provenance } from "../event/provenance.ts";
import type { SessionSegment } from "../event/session.ts";
import type { Request } from "../event/signal.ts";
import type { SignalBoxVersion } from "../event/step-parking.ts";
import { leftActKey } from "../run/branch-acts.ts";
import { type Gate, getStep, type Run, runStatus } from "../run/run.ts";
import { runDueAt } from "../run/run-wakeups.ts";
import { requesterOf } from "../run/step-principal.ts";
import { runTools, workerRequirements } from "../run/worker-requirements.ts";
import type { StateChange } from "../state/state-change.ts";
import { defaultQueue } from "../store/select-fairly.ts";
import type { Put } from "../store/store.ts";
import type {
  DoubtRow,
  GateRow,
  LedgerRow,
  NamingRow,
  NoticeRow,
  OutcomeRow,
  ProjectRow,
  RequestRow,
  RunRow,
  SignalRow,
  Table,
  TimerRow,
} from "../store/tables.ts";
import { assert } from "../values/assert.ts";
import type { GateId, Instant, RunId, StepId } from "../values/ids.ts";
import { foldEvents } from "./evolve.ts";

/** Returns the rows that follow from events. If all rows are dropped, folding all events again gives equal rows. */
export function eventRows(before: Run, events: readonly Event[], after: Run): readonly Put[] {
  const puts: Put[] = [];
  let position = before.position;
  for (const event of events) {
    position += 1;
    addEventRows(event, position, after, puts);
  }
  addReadModelRows(before, after, puts);
  if (before.listing.doubts !== after.listing.doubts) addDoubtRows(before, events, after, puts);
  return puts;
}

/** Returns the puts of all events of a run. The last put of each row gives its current content. */
export function historyRows(empty: Run, events: readonly Event[]): readonly Put[] {
  const puts: Put[] = [];
  const run = foldEvents(empty, events, (event, after) => addEventRows(event, after.position, after, puts));
  puts.push(put("run", run.id, "any", runRow(run)), timerPut(run.id, runDueAt(run), run, workerRequirements(run)));
  for (const [step_id] of run.listing.doubts) puts.push(doubtPut(run, step_id as StepId));
  return puts;
}

function addEventRows(event: Event, position: number, after: Run, puts: Put[]): void {
  if ("ledger" in event && event.ledger && !event.ledger.superseded)
    puts.push(ledgerPut(after, event.step_id, event.ledger.version));
  if ("gate_id" in event && event.type !== "gate.contested") puts.push(gatePut(after, event.gate_id));
  if ("state" in event && event.state) puts.push(projectPut(after.id, event.state, position));
  if ("notices" in event && event.notices) puts.push(...noticePuts(event.notices, after.id, position));
  switch (event.type) {
    case "run.accepted":
      if (event.opened !== undefined) {
        const { segment, digest } = event.opened;
        const row: RequestRow = { run_id: event.run_id, digest };
        puts.push(put("request", sessionKey(event.principal.id, event), previousVersion(segment), row));
      }
      if (event.request !== null) {
        const row: RequestRow = { run_id: event.run_id, digest: event.request.digest };
        const { principal, request } = event;
        const key =
          request.form === 2 ? requestKey(principal.id, request.key, event) : oldRequestKey(principal.id, request.key);
        puts.push(put("request", key, null, row));
      }
      break;
    case "run.closed":
      puts.push(...callNamePuts(after));
      break;
    case "gate.approved":
      if (event.naming !== undefined) puts.push(namingPut(after, event.gate_id, event.naming));
      break;
    case "step.started":
      if (event.gate !== null) puts.push(gatePut(after, event.gate.gate_id));
      break;
    case "step.succeeded":
      if (event.outcome) puts.push(outcomePut(after, event.outcome, event, position));
      if (event.signal) puts.push(...signalPuts(event.signal, after.id, event.signal.request));
      break;
    case "step.failed":
      if (event.signal) puts.push(...signalPuts(event.signal, after.id, event.signal.request));
      break;
    case "step.parked":
      if (event.on.for === "signal") puts.push(...signalPuts(event.on.box, after.id, null));
      break;
    case "step.settled": {
      const { standing } = getStep(after, event);
      if (standing.state === "succeeded" && standing.outcome !== null)
        puts.push(outcomePut(after, standing.outcome, event, position));
      break;
    }
    case "notice.delivered":
    case "notice.withdrawn":
      puts.push({ table: "notice", key: event.notice_id, was: "any", row: null });
      break;
  }
}

/** By these rows, a later run of the session finds the calls of this one. A refused name belongs to another call. */
function callNamePuts(run: Run): readonly Put[] {
  if (run.opened === null) return [];
  const row: RequestRow = { run_id: run.id, digest: run.opened.digest };
  const session = sessionKey(run.principal.id, { ...run, opened: run.opened });
  return Array.from(run.calls, ([key]) => key)
    .filter((key) => key.endsWith("]"))
    .map((key) => put("request", callNameKey(session, key), "any", row));
}

/** The key of the row of a call in an earlier run of a session. No other request has the prefix. */
export function callNameKey(session: string, call: string): string {
  return `call:${session.length}:${session}${call}`;
}

function namingPut(run: Run, gate_id: GateId, { branch, version }: ActNaming): Put {
  const { same_as: step_id, same_in: run_id = run.id, step_id: call } = run.gates.get(gate_id) as Gate;
  assert(step_id !== undefined, "an approver names an act with its step");
  const row: NamingRow = { run_id: run.id, step_id: call };
  return put("request", namingKey(branch, { run_id, step_id }), previousVersion(version), row);
}

/** The key of the row of the call that an act answers after a branch. No other request has the prefix. */
export function namingKey(branch: BranchId, act: Pick<LeftAct, "run_id" | "step_id">): string {
  return `same:${branch}:${leftActKey(act)}`;
}

function noticePuts(notices: readonly Notice[], run_id: RunId, position: number): readonly Put[] {
  return notices.map(({ notice_id }) => {
    const row: NoticeRow = { notice_id, run_id, position };
    return put("notice", notice_id, "any", row);
  });
}

/** Returns the rows of a signal that a step waits for, takes or receives. The journal of `run_id` has the change. */
export function signalPuts(box: SignalBoxVersion, run_id: RunId, request: Request | null): readonly Put[] {
  const { key, version, sent, taken, waiters } = box;
  const puts = [put("signal", key, previousVersion(version), { run_id, sent, taken, waiters } satisfies SignalRow)];
  if (request === null) return puts;
  const row: RequestRow = { run_id, digest: request.digest };
  return [...puts, put("request", signalRequestKey(key, request.key), null, row)];
}

/** The prefix differs from that of `requestKey`, and from that of `oldRequestKey`, which begins with a number. */
export function signalRequestKey(signal: string, key: string): string {
  return `signal:${signal.length}:${signal}${key}`;
}

/** The project and session in which a request is made. */
export interface RequestScope {
  readonly project?: string | null;
  readonly session?: string | null;
}

/** The key begins with a JSON list, whose end is unambiguous. Two different requests never have the same key. */
export function requestKey(principal: string, key: string, { project, session }: RequestScope): string {
  return `request:${JSON.stringify([principal, project ?? null, session ?? null])}${key}`;
}

/** The parts of the key of a session, beside its tenant and principal. */
export interface SessionScope extends RequestScope {
  readonly opened?: Pick<SessionSegment, "subject">;
}

/** The prefix differs from that of every other request, so no key of a caller names a session. */
export function sessionKey(principal: string, { project, session, opened }: SessionScope): string {
  return `session:${JSON.stringify([principal, project ?? null, session ?? null, opened?.subject ?? null])}`;
}

/** The key of a request without `form`: the length comes first, so two different pairs never have the same key. */
export function oldRequestKey(principal: string, key: string): string {
  return `${principal.length}:${principal}${key}`;
}

function put(table: Table, key: string, was: Put["was"], row: object): Put {
  return { table, key, was, row: JSON.stringify(row) };
}

/** Returns the version that a put of this version expects, or null if the put creates the row. */
function previousVersion(version: number): number | null {
  return version === 1 ? null : version - 1;
}

function ledgerPut(after: Run, step_id: StepId, version: number): Put {
  const { act, call, spec } = getStep(after, { step_id });
  assert(act !== null && call?.key != null, "the step of a ledger row has an act");
  const row: LedgerRow = {
    key: call.key,
    state: act.state,
    generation: act.generation,
    tool: spec.name,
    run_id: after.id,
    origin: after.origin,
    step_id,
    attempt: act.attempt,
    input_digest: call.digest,
    receipt: act.receipt,
    usable: act.usable,
  };
  return put("ledger", call.key, previousVersion(version), row);
}

function projectPut(run_id: RunId, { project, version, commit }: StateChange, position: number): Put {
  const row: ProjectRow = { run_id, position, commit };
  return put("project", project, previousVersion(version), row);
}

function gatePut(after: Run, gate_id: GateId): Put {
  const gate = after.gates.get(gate_id);
  assert(gate !== undefined, "the gate of a gate row exists");
  const step = getStep(after, gate);
  const row: GateRow = {
    gate_id,
    run_id: after.id,
    step_id: gate.step_id,
    tool: step.spec.name,
    status: gate.status,
    input_digest: gate.call.digest,
    requester: requesterOf(after, step),
    opened_at: gate.opened_at,
    expires_at: gate.expires_at,
  };
  return put("gate", gate_id, previousVersion(gate.version), row);
}

function outcomePut(
  after: Run,
  outcome: Provenance,
  { step_id, at }: Pick<Extract<Event, { type: "step.succeeded" }>, "step_id" | "at">,
  position: number,
): Put {
  const { outcome_id, type, status, tool, reuse_key } = outcome;
  const row: OutcomeRow = {
    outcome_id,
    type,
    status,
    run_id: after.id,
    step_id,
    position,
    tool,
    at,
    reuse_key,
    requester: requesterOf(after, getStep(after, { step_id })),
    ...(after.project !== null && { project: after.project }),
  };
  return put("outcome", outcome_id, "any", row);
}

/** Adds the run row and the timer row if they changed. Most events of a run change neither. */
function addReadModelRows(before: Run, after: Run, puts: Put[]): void {
  const isNew = before.position === 0;
  if (before.listing.summary !== after.listing.summary) puts.push(put("run", after.id, "any", runRow(after)));
  const due = runDueAt(after);
  const needs = workerRequirements(after);
  const moved = due !== runDueAt(before) || after.rules?.digest !== before.rules?.digest;
  if (isNew ? due !== null || needs.length > 0 : moved || !sameStrings(needs, workerRequirements(before)))
    puts.push(timerPut(after.id, due, after, needs));
}

function sameStrings(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index]);
}

/** Returns the put of the timer row: when the run is due, its queue and priority, and which workers claim it. */
export function timerPut(
  id: RunId,
  due_at: Instant | null,
  {
    queue,
    priority,
    rules = null,
    tools: pins = {},
  }: Pick<Run, "queue" | "priority"> & Partial<Pick<Run, "rules" | "tools">>,
  needs: readonly string[] = [],
): Put {
  if (due_at === null && needs.length === 0) return { table: "timer", key: id, was: "any", row: null };
  const tools = runTools({ tools: pins });
  const row: TimerRow = {
    due_at,
    ...(queue !== defaultQueue && { queue }),
    ...(priority !== 0 && { priority }),
    ...(needs.length > 0 && { needs }),
    ...(rules !== null && { rules: rules.digest }),
    ...(tools.length > 0 && { tools }),
  };
  return put("timer", id, "any", row);
}

/** Adds the rows of the doubts that the events began, changed or ended. */
function addDoubtRows(before: Run, events: readonly Event[], after: Run, puts: Put[]): void {
  const steps = new Set(events.flatMap((event) => ("step_id" in event ? [event.step_id] : [])));
  for (const step_id of steps) {
    if (after.listing.doubts.has(step_id)) puts.push(doubtPut(after, step_id));
    else if (before.listing.doubts.has(step_id))
      puts.push({ table: "doubt", key: doubtKey(after.id, step_id), was: "any", row: null });
  }
}

function doubtKey(run: RunId, step: StepId): string {
  return `${run}:${step}`;
}

function doubtPut(run: Run, step_id: StepId): Put {
  const step = getStep(run, { step_id });
  const { standing, act, spec } = step;
  assert(standing.state === "in_doubt" && act !== null, "only an act is in doubt");
  const { next } = standing.doubt;
  const row: DoubtRow = {
    run_id: run.id,
    step_id,
    tool: spec.name,
    attempt: act.attempt,
    requester: requesterOf(run, step),
    since: standing.since,
    waiting_for: next.do === "ask" ? "person" : "verifier",
    ...(next.do === "look_again" && { look_at: next.at }),
    ...(run.project !== null && { project: run.project }),
    ...(run.session !== null && { session: run.session }),
  };
  return put("doubt", doubtKey(run.id, step_id), "any", row);
}

function runRow(run: Run): RunRow {
  const { title, labels, summary } = run.listing;
  return {
    run_id: run.id,
    origin: run.origin,
    status: runStatus(run),
    final: run.ended !== null,
    mode: run.mode,
    principal: run.principal.id,
    plan_id: run.plan?.plan_id ?? null,
    accepted_at: run.accepted_at,
    ended_at: run.ended?.at ?? null,
    ...(run.ended?.as !== undefined && { ended_as: run.ended.as }),
    ...(run.project !== null && { project: run.project }),
    ...(run.session !== null && { session: run.session }),
    ...(run.opened?.agent !== undefined && { agent: run.opened.agent.name }),
    ...(run.parent !== null && { parent: run.parent.run_id }),
    ...(title !== null && { title }),
    ...(labels.length > 0 && { labels }),
    ...(summary.tools.length > 0 && { tools: summary.tools }),
    ...(summary.waiting_for.length > 0 && { waiting_for: summary.waiting_for }),
    updated_at: summary.updated_at,
    steps: summary.steps,
    succeeded: summary.succeeded,
    done: summary.done,
    ...(Object.keys(summary.spent).length > 0 && { spent: summary.spent }),
  };
}
