import { assert } from "./assert.ts";
import type { Event, Notice, Provenance } from "./event.ts";
import { fold } from "./evolve.ts";
import type { GateId, Instant, RunId, StepId } from "./id.ts";
import { needsOf } from "./need.ts";
import type { BoxVersion } from "./parking.ts";
import type {
  GateRow,
  LedgerRow,
  NoticeRow,
  OutcomeRow,
  ProjectRow,
  RequestRow,
  RunRow,
  SignalRow,
  Table,
  TimerRow,
} from "./rows.ts";
import { dueAt, type Run, requesterOf, statusOf, stepOf } from "./run.ts";
import type { Request } from "./signal.ts";
import type { StateChange } from "./state/state-change.ts";
import type { Put } from "./store.ts";
import { queueDefault } from "./turns.ts";

/** The rows that follow from events. Stores write them blindly; dropping every row and refolding gives the same bytes. */
export function rowsOf(before: Run, events: readonly Event[], after: Run): readonly Put[] {
  const puts: Put[] = [];
  let position = before.position;
  for (const event of events) {
    position += 1;
    rowsOfEvent(event, position, after, puts);
  }
  readModel(before, after, puts);
  return puts;
}

/** The rows that a whole history has left, each as it was put last. */
export function rowsOfHistory(unborn: Run, events: readonly Event[]): readonly Put[] {
  const puts: Put[] = [];
  const run = fold(unborn, events, (event, after) => rowsOfEvent(event, after.position, after, puts));
  puts.push(put("run", run.id, "any", runRow(run)), timerPut(run.id, dueAt(run), run, needsOf(run)));
  return puts;
}

function rowsOfEvent(event: Event, position: number, after: Run, puts: Put[]): void {
  if ("ledger" in event && event.ledger && !event.ledger.superseded)
    puts.push(ledgerPut(after, event.step_id, event.ledger.version));
  if ("gate_id" in event && event.type !== "gate.contested") puts.push(gatePut(after, event.gate_id));
  if ("state" in event && event.state) puts.push(projectPut(after.id, event.state, position));
  switch (event.type) {
    case "run.accepted":
      if (event.request !== null) {
        const row: RequestRow = { run_id: event.run_id, digest: event.request.digest };
        puts.push(put("request", requestKey(event.principal.id, event.request.key), null, row));
      }
      break;
    case "step.started":
      if (event.gate !== null) puts.push(gatePut(after, event.gate.gate_id));
      break;
    case "gate.escalated":
    case "run.ended":
    case "run.poisoned":
    case "budget.alerted":
    case "cancel.requested":
      if (event.notices) puts.push(...noticePuts(event.notices, after.id, position));
      break;
    case "step.succeeded":
      if (event.notices) puts.push(...noticePuts(event.notices, after.id, position));
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
      const { standing } = stepOf(after, event);
      if (standing.state === "succeeded" && standing.outcome !== null)
        puts.push(outcomePut(after, standing.outcome, event, position));
      break;
    }
    case "notice.delivered":
      puts.push({ table: "notice", key: event.notice_id, was: "any", row: null });
      break;
  }
}

function noticePuts(notices: readonly Notice[], run_id: RunId, position: number): readonly Put[] {
  return notices.map(({ notice_id }) => {
    const row: NoticeRow = { notice_id, run_id, position };
    return put("notice", notice_id, "any", row);
  });
}

/** The rows of a signal that is waited for, sent or taken, as the journal of `run_id` says. */
export function signalPuts(box: BoxVersion, run_id: RunId, request: Request | null): readonly Put[] {
  const { key, version, sent, taken, waiters } = box;
  const puts = [put("signal", key, over(version), { run_id, sent, taken, waiters } satisfies SignalRow)];
  if (request === null) return puts;
  const row: RequestRow = { run_id, digest: request.digest };
  return [...puts, put("request", signalRequestKey(key, request.key), null, row)];
}

/** No request of a principal begins like this: those begin with a number. */
export function signalRequestKey(signal: string, key: string): string {
  return `signal:${signal.length}:${signal}${key}`;
}

/** Length first, so that no two pairs share a key. */
export function requestKey(principal: string, key: string): string {
  return `${principal.length}:${principal}${key}`;
}

function put(table: Table, key: string, was: Put["was"], row: object): Put {
  return { table, key, was, row: JSON.stringify(row) };
}

/** A version is written over the one before it; the first over none. */
function over(version: number): number | null {
  return version === 1 ? null : version - 1;
}

function ledgerPut(after: Run, step_id: StepId, version: number): Put {
  const { act, call, spec } = stepOf(after, { step_id });
  assert(act !== null && call?.key != null, "a ledger row has an act behind it");
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
  return put("ledger", call.key, over(version), row);
}

function projectPut(run_id: RunId, { project, version, commit }: StateChange, position: number): Put {
  const row: ProjectRow = { run_id, position, commit };
  return put("project", project, over(version), row);
}

function gatePut(after: Run, gate_id: GateId): Put {
  const gate = after.gates.get(gate_id);
  assert(gate !== undefined, "a gate row has a gate behind it");
  const step = stepOf(after, gate);
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
  return put("gate", gate_id, over(gate.version), row);
}

function outcomePut(
  after: Run,
  made: Provenance,
  { step_id, at }: Pick<Extract<Event, { type: "step.succeeded" }>, "step_id" | "at">,
  position: number,
): Put {
  const { outcome_id, type, status, tool, reuse_key } = made;
  const row: OutcomeRow = { outcome_id, type, status, run_id: after.id, step_id, position, tool, at, reuse_key };
  return put("outcome", outcome_id, "any", row);
}

/** What lists show and what workers claim from: written only when it changed, so a step in the middle of a run writes neither. */
function readModel(before: Run, after: Run, puts: Put[]): void {
  const born = before.position === 0;
  // A run that ends anew in one entry has the status it had, but not the moment.
  const moved = statusOf(before) !== statusOf(after) || before.ended?.at !== after.ended?.at;
  if (born || moved) puts.push(put("run", after.id, "any", runRow(after)));
  const due = dueAt(after);
  const needs = needsOf(after);
  if (born ? due !== null : due !== dueAt(before) || !isSame(needs, needsOf(before)))
    puts.push(timerPut(after.id, due, after, needs));
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index]);
}

/** When something is due, where it stands in line then, and who else may take it before. */
export function timerPut(
  id: RunId,
  due_at: Instant | null,
  { queue, priority }: Pick<Run, "queue" | "priority">,
  needs: readonly string[] = [],
): Put {
  if (due_at === null && needs.length === 0) return { table: "timer", key: id, was: "any", row: null };
  const row: TimerRow = {
    due_at,
    ...(queue !== queueDefault && { queue }),
    ...(priority !== 0 && { priority }),
    ...(needs.length > 0 && { needs }),
  };
  return put("timer", id, "any", row);
}

function runRow(run: Run): RunRow {
  return {
    run_id: run.id,
    origin: run.origin,
    status: statusOf(run),
    final: run.ended !== null,
    mode: run.mode,
    principal: run.principal.id,
    plan_id: run.plan?.plan_id ?? null,
    accepted_at: run.accepted_at,
    ended_at: run.ended?.at ?? null,
  };
}
