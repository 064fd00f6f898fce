import { assert } from "../../core/assert.ts";
import type { Ask, Errand, Grant } from "../../core/command.ts";
import type { Decision } from "../../core/decide.ts";
import { worst } from "../../core/effect.ts";
import type { Notice } from "../../core/event.ts";
import { type Fault, fault } from "../../core/fault.ts";
import type { Instant, StepId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json/json.ts";
import type { PlanStep } from "../../core/plan/plan.ts";
import { findStep, type Run, type Step } from "../../core/run.ts";
import { CALL_WITHIN_MS, isUndo } from "../../core/step.ts";
import type { Done, Tool, ToolContext } from "../../core/tool.ts";
import { Desk } from "../desk/desk.ts";
import { closed, flawIn, type Loan, putBack, settleLoan } from "../desk/loan.ts";
import { downstreamKey } from "../digest.ts";
import type { Ports } from "../ports.ts";
import { Fenced, isStoreFault } from "../record/mailbox.ts";
import { admit, admitAtOnce } from "./admit.ts";
import { tellAlerts } from "./alert.ts";
import { execute, type Work } from "./execute.ts";
import type { Execution } from "./execution.ts";
import { reuseTerms } from "./facts.ts";
import { costExpected } from "./fare.ts";
import { driftAt, shownAt } from "./preview.ts";
import { timeFor } from "./time-limit.ts";
import { look } from "./verify.ts";
import type { Way } from "./way.ts";

/** The road: propose → admit → acquire → execute → commit. Dispatch follows from what was committed. */
export function walk(way: Way, step: Step): Promise<void> {
  const admitted = admitAtOnce(way, step);
  if (admitted === null || way.ports.slices.length > 0) return walkWith(way, step, admitted);
  return admitted.grant === null ? Promise.resolve() : call(way, step, admitted.grant, NOWHERE);
}

/** Most calls have no state to work on and change no resource. */
const NOWHERE: Workplace = { desk: null, borrowed: null };

/** The road of a step that something has to be fetched or lent for. */
async function walkWith(way: Way, step: Step, admitted: Decision | null): Promise<void> {
  const { ports, mailbox } = way;
  const loan: Loan = { borrowed: null };
  let desk: Desk | null = null;
  try {
    const { grant, events } = admitted ?? (await admit(way, step, loan));
    if (grant === null) {
      if (events.some((event) => event.type === "gate.opened")) ports.failpoint("gate.after");
      return;
    }
    // Not even a turn of the loop is between the proof that the run is ours and the call, so that state is fetched before.
    if (ports.slices.length > 0) desk = await Desk.open(ports, mailbox.run, step, grant.proposal.seen);
    await call(way, step, grant, { desk, borrowed: loan.borrowed });
  } finally {
    desk?.leave();
    if (loan.borrowed !== null) await loan.borrowed.giveBack();
  }
}

/** The call itself, and its commit. */
async function call(way: Way, step: Step, grant: Grant, work: Workplace): Promise<void> {
  const { ports, mailbox } = way;
  const { desk, borrowed } = work;
  const acts = grant.generation > 0;
  const drift = desk && driftAt(ports, mailbox.run, grant, desk);
  if (drift !== null) return leave(way, step, grant, uncalled(drift), borrowed);
  if (acts && !(await isMarked(way, grant))) return leave(way, step, grant, UNCALLED, borrowed);
  for (let look = lastLook(way, step, grant); look !== null; look = lastLook(way, step, grant)) {
    const found = await look;
    if (found !== null) return leave(way, step, grant, found, borrowed);
  }
  let execution = await perform(way, step, grant, work);
  way.over(grant);
  if (borrowed !== null) execution = await closed(ports, execution, borrowed);
  desk?.close(execution.ending, { tool: step.spec.name, step_id: step.spec.step_id, attempt: grant.attempt });
  if (acts) ports.failpoint("tool.after");
  if (borrowed !== null) await putBack(way, grant, flawIn(execution.ending) ?? desk?.flaw ?? null, borrowed);
  await end(way, step, grant, execution, desk);
  if (acts) ports.failpoint("end.after");
  if (borrowed !== null) await settleLoan(way, grant, borrowed);
  const { tolls } = grant.proposal;
  if (tolls.length > 0) await tellAlerts(way, tolls);
}

/** A call that was let start is not made after all: what was lent for it is as it was before anybody hears of that. */
async function leave(way: Way, step: Step, grant: Grant, found: Execution, borrowed: Loan["borrowed"]): Promise<void> {
  if (borrowed !== null) await putBack(way, grant, flawIn(found.ending), borrowed);
  await end(way, step, grant, found);
}

/** What an attempt works on. */
interface Workplace extends Loan {
  readonly desk: Desk | null;
}

/** An act is about to be called. False: nobody could say so, and whether the marker is there or not, it is not called. */
async function isMarked({ ports, claim }: Way, { step_id, attempt }: Grant): Promise<boolean> {
  ports.failpoint("start.after");
  try {
    if (!(await ports.store.mark(claim, step_id, attempt)))
      throw new Fenced("the run was claimed again before the call");
  } catch (error) {
    if (isStoreFault(error)) return false;
    throw error;
  }
  ports.failpoint("mark.after");
  return true;
}

/** Calls the handler. Resolves when its attempt is over. */
function perform(way: Way, step: Step, grant: Grant, place: Workplace): Promise<Execution> {
  const tool = way.ports.toolbox.get(step.spec.name);
  assert(tool !== undefined, "an unknown tool is never admitted");
  const work = workOf(way, step, grant, tool, place);
  const running = execute(way.ports, work, (late) => way.gone(grant, late));
  way.began(grant, running);
  return running.over;
}

/**
 * What has to be looked at once more right before the call, because the store was slow or this process stood still; null: nothing,
 * it may be made now. Whoever looks answers with null, or with why the call is not made. As long as one look takes, another may grow old.
 */
function lastLook(way: Way, step: Step, grant: Grant): Promise<Execution | null> | null {
  const { ports, mailbox, claim } = way;
  const now = ports.clock.now();
  if (isCancelled(mailbox.run, step)) return Promise.resolve(CANCELLED);
  if (grant.generation > 0 && isTooLate(mailbox.run, grant, now)) return Promise.resolve(UNCALLED);
  if (!ports.leases.isProven(claim)) return lookAtLease(way, grant);
  if (isUndo(step)) return null;
  if (!isFresh(way, grant, now)) return lookAtHalts(way, grant);
  return ports.halts.of(mailbox.run).halt === null ? null : Promise.resolve(HALTED);
}

/**
 * This process may have stood still for longer than the lease lasts. If the store cannot say whose the run is, a call whose start
 * is on record is not made. Where nothing is on record there is nothing to end: the store's fault is all there is.
 */
async function lookAtLease({ ports, claim }: Way, { recorded }: Grant): Promise<Execution | null> {
  try {
    if (await ports.leases.holds(claim)) return null;
  } catch (error) {
    if (recorded && isStoreFault(error)) return UNCALLED;
    throw error;
  }
  throw new Fenced("the run was claimed again while this process stood still");
}

/** Someone may have said so after its start was judged, which was no more than a moment ago unless the store is slow. */
async function lookAtHalts(way: Way, grant: Grant): Promise<Execution | null> {
  const { ports, mailbox } = way;
  try {
    await ports.halts.readAnew(mailbox.run);
  } catch (error) {
    // Whoever cannot look does not call: that it was not called is known here, and to nobody after us.
    if (grant.recorded && isStoreFault(error)) return HALTED;
    throw error;
  }
  return isFresh(way, grant, ports.clock.now()) ? null : HALTED;
}

/** Nothing new begins a second after it was halted. What is on record was judged by the rows themselves when it started. */
function isFresh({ ports, mailbox }: Way, { recorded, started_at }: Grant, now: Instant): boolean {
  if (!recorded) return ports.halts.isFresh(mailbox.run);
  const since = now - started_at;
  return (since >= 0 && since < MOMENT_MS) || ports.halts.isFresh(mailbox.run, MOMENT_MS);
}

const MOMENT_MS = 500;

/** Somebody has cancelled the run since the call was let start. What was sent once is sent again to find out what became of it. */
function isCancelled({ cancel }: Run, step: Step): boolean {
  return cancel !== null && !isUndo(step) && !step.act?.doubt;
}

/** The store took so long that a call could no longer be told from one that never was, or outlives its promise. */
function isTooLate(run: Run, { step_id, started_at }: Grant, now: Instant): boolean {
  const until = findStep(run, step_id)?.act?.doubt?.doubt.exits.resend_until ?? null;
  return now - started_at > CALL_WITHIN_MS || (until !== null && now >= until);
}

const UNCALLED = uncalled(
  fault("CALL_NOT_MADE", "the store took too long to let the call go, or failed; it was not made"),
);

const HALTED = uncalled(
  fault("CALL_NOT_MADE", "it was halted, or may have been, while the store let the call wait; it was not made"),
);

const CANCELLED = uncalled(fault("CANCELLED", "the run was cancelled before the call was made"));

function uncalled(why: Fault): Execution {
  return { ending: { how: "not_done", fault: why }, cost: null, errands: [], notices: [], heartbeat: null };
}

function workOf({ ports, mailbox: { run } }: Way, step: Step, grant: Grant, tool: Tool, place: Workplace): Work {
  const { spec, cause } = step;
  const { input, call, estimate } = grant.proposal;
  const key = call?.key == null ? ("" as const) : downstreamKey(call.key, grant.generation);
  const context = {
    key,
    run_id: run.id,
    plan_id: run.plan?.plan_id ?? null,
    step_id: spec.step_id,
    attempt: grant.attempt,
    correlation_id: run.correlation_id,
    trace_id: run.trace_id,
    now: shownAt(run, step) ?? grant.started_at,
    last_heartbeat: step.heartbeat,
  };
  const undo = cause?.by === "undo";
  const handler = (given: ToolContext) =>
    undo && tool.compensate !== null ? tool.compensate(input as unknown as Done, given) : tool.run(input, given);
  return {
    tool,
    handler,
    context,
    desk: place.desk,
    borrowed: place.borrowed,
    checked: !undo,
    ...timeFor(run, step, tool, ports.clock.now()),
    spends: { expected: costExpected(estimate) },
  };
}

/** Commits how a handler ended; late values come this way, too. */
export function end(
  way: Way,
  step: Step,
  grant: Grant,
  execution: Execution,
  desk: Desk | null = null,
): Promise<unknown> {
  const ended = { execution, desk, confirmed: false };
  const undone = step.cause?.by === "undo" && hasSucceeded(execution);
  return undone && way.ports.toolbox.facts(step.spec.name)?.verifies
    ? endUndo(way, step, grant, ended)
    : commit(way, step, grant, ended);
}

/** Whether the act is gone is for the world to say. */
async function endUndo(way: Way, step: Step, grant: Grant, ended: Ended): Promise<unknown> {
  const { sighting } = await look(way.ports, way.mailbox.run, step);
  return commit(way, step, grant, { ...ended, confirmed: sighting.saw === "happened" });
}

interface Ended {
  readonly execution: Execution;
  readonly desk: Desk | null;
  readonly confirmed: boolean;
}

function hasSucceeded({ ending }: Execution): boolean {
  return ending.how === "value" && ending.flaw === null;
}

function commit(way: Way, step: Step, grant: Grant, { execution, desk, confirmed }: Ended): Promise<Decision> {
  const { ports, mailbox } = way;
  const { ending, cost, errands, notices, heartbeat, closings } = execution;
  const facts = ports.toolbox.facts(step.spec.name);
  assert(facts !== null, "an unknown tool is never run");
  const succeeded = hasSucceeded(execution);
  const acts = worst(step.spec.effect, facts.effect) === "acts";
  const ended: Ask<"end"> = {
    type: "end",
    now: ports.clock.now(),
    grant,
    ending,
    heartbeat,
    tool: facts,
    cost,
    // What was read from state is not in the question, so that the answer is not one to every equal question.
    reuse:
      acts || desk?.hasRead ? null : reuseTerms(ports, mailbox.run, step, grant.proposal, grant.basis?.policy ?? null),
    errands: succeeded ? errands.map((errand, index) => errandOf(ports, step, errand, index + 1)) : NONE,
    notices: succeeded ? notices.map((notice, index) => noticeOf(mailbox.run, step, notice, index + 1)) : NONE,
    state: desk,
    dice: succeeded && desk === null ? 0 : ports.dice(),
    in_flight: succeeded ? NONE : way.inFlight(),
    confirmed,
  };
  const told = closings === undefined ? ended : { ...ended, closings };
  return mailbox.ask(desk === null || !succeeded ? told : maybeFailing(way, told));
}

/** What state makes of it is not known yet: it may fail, and end the plan for all but those in flight then. */
function maybeFailing(way: Way, ended: Ask<"end">): Ask<"end"> {
  return Object.defineProperty({ ...ended }, "in_flight", { get: () => way.inFlight() });
}

const NONE: readonly never[] = [];

function errandOf(
  { toolbox }: Ports,
  { spec }: Step,
  { kind, name, payload }: Execution["errands"][number],
  number: number,
): Errand {
  const tool = kind === "operator" ? toolbox.get(name) : null;
  const step_id = `${spec.step_id}.${number}` as StepId;
  const step: PlanStep = {
    step_id,
    kind,
    name,
    payload: payload as JsonObject,
    effect: tool === null ? "pure" : (tool?.effect ?? "acts"),
    policy_tags: tool?.tags ?? [],
    gate: "none",
    cache_policy: tool?.cache ?? "never",
    idempotency_template: null,
    depends_on: [],
    bindings: {},
    on_failure: "skip",
    on_rejected: "continue",
    retries: null,
    timeout_ms: null,
    preconditions: [],
    outcome: null,
    state_reads: null,
    state_writes: null,
  };
  return { step, pin: tool == null ? null : toolbox.pin(name), cause: { by: "errand", of: spec.step_id } };
}

function noticeOf(run: Run, { spec }: Step, { topic, payload }: Omit<Notice, "notice_id">, number: number): Notice {
  return { notice_id: `ntc_${run.id.slice(4)}_${spec.step_id}_${number}`, topic, payload };
}
