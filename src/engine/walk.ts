import { assert } from "../core/assert.ts";
import type { Ask, Errand, Grant } from "../core/command.ts";
import type { Decision } from "../core/decide.ts";
import { worst } from "../core/effect.ts";
import type { Notice } from "../core/event.ts";
import { fault } from "../core/fault.ts";
import type { Policy } from "../core/guard.ts";
import type { HaltFact } from "../core/halt.ts";
import type { Instant, StepId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { PlanStep } from "../core/plan.ts";
import type { Proposal } from "../core/proposal.ts";
import type { Need } from "../core/ruling.ts";
import { findStep, type Run, type Step } from "../core/run.ts";
import { awaitsSignal, CALL_WITHIN_MS, isUndo } from "../core/step.ts";
import type { Claim } from "../core/store.ts";
import type { Done, Tool, ToolContext } from "../core/tool.ts";
import { Desk } from "./desk.ts";
import { downstreamKey } from "./digest.ts";
import { type Execution, execute, type Running, type Work } from "./execute.ts";
import { reuseTerms, withFacts } from "./facts.ts";
import { costExpected, priced, withUsage, withUsed } from "./fare.ts";
import type { Kin } from "./kin.ts";
import { closed, flawIn, type Loan, putBack, settleLoan, withCaptures } from "./loan.ts";
import { Fenced, isStoreFault, type Mailbox, RowLost } from "./mailbox.ts";
import { policyJournal } from "./policies.ts";
import type { Ports } from "./ports.ts";
import { shownAt, withPins, withPreview } from "./preview.ts";
import { propose } from "./propose.ts";
import { ask, look } from "./verify.ts";

/** What a walk along the road needs of whoever holds the run. */
export interface Way {
  readonly ports: Ports;
  readonly claim: Claim;
  readonly mailbox: Mailbox;
  readonly kin: Kin;
  /** How many steps have set out so far. */
  setOut(): number;
  /** Steps in flight that no `started` fact stands for, out of all or of the first so many that set out. */
  inFlight(first?: number): readonly StepId[];
  /** The handler is running; a cancelled run aborts it. */
  began(grant: Grant, running: Running): void;
  /** The attempt is over, though its handler may still be there. */
  over(grant: Grant): void;
  /** The handler has left; `late` is what it said when its attempt was over. */
  gone(grant: Grant, late: Execution | null): void;
}

/** The road: propose → admit → acquire → execute → commit. Dispatch follows from what was committed. */
export async function walk(way: Way, step: Step): Promise<void> {
  const { ports, mailbox } = way;
  const loan: Loan = { borrowed: null };
  let desk: Desk | null = null;
  try {
    const { grant, events } = await admit(way, step, loan);
    if (grant === null) {
      if (events.some((event) => event.type === "gate.opened")) ports.failpoint("gate.after");
      return;
    }
    // Not even a turn of the loop is between the proof that the run is ours and the call, so that state is fetched before.
    if (ports.slices.length > 0) desk = await Desk.open(ports, mailbox.run, step);
    await call(way, step, grant, { desk, borrowed: loan.borrowed });
  } finally {
    desk?.leave();
    if (loan.borrowed !== null) await loan.borrowed.giveBack();
  }
}

/** The call itself, and its commit. */
async function call(way: Way, step: Step, grant: Grant, work: Workplace): Promise<void> {
  const { ports, mailbox, claim } = way;
  const acts = grant.generation > 0;
  if (acts) await mark(way, grant);
  if (acts && (await isHaltedSince(way, step, grant))) return void (await end(way, step, grant, HALTED));
  if (!ports.leases.isProven(claim) && !(await isHeld(way, grant))) return void (await end(way, step, grant, UNCALLED));
  if (acts && isTooLate(mailbox.run, grant, ports.clock.now())) return void (await end(way, step, grant, UNCALLED));
  const { desk, borrowed } = work;
  let execution = await perform(way, step, grant, work);
  way.over(grant);
  if (borrowed !== null) execution = await closed(ports, execution, borrowed);
  desk?.close(execution.ending, { tool: step.spec.name, step_id: step.spec.step_id, attempt: grant.attempt });
  if (acts) ports.failpoint("tool.after");
  if (borrowed !== null) await putBack(way, grant, flawIn(execution.ending) ?? desk?.flaw ?? null, borrowed);
  await end(way, step, grant, execution, desk);
  if (acts) ports.failpoint("end.after");
  if (borrowed !== null) await settleLoan(way, grant, borrowed);
}

/** What an attempt works on. */
interface Workplace extends Loan {
  readonly desk: Desk | null;
}

/** Asks for the right to run, with one more fact each time the law needs it. */
async function admit(way: Way, step: Step, loan: Loan): Promise<Decision> {
  const { ports, mailbox } = way;
  const { step_id } = step.spec;
  const wanted = step.spec.cache_policy !== "never" || step.spec.gate !== "none";
  const reading = ports.policies.reading(mailbox.run.tenant);
  if (reading !== null) await reading;
  const looking = ports.halts.reading(mailbox.run);
  if (looking !== null) await looking;
  let proposal = propose(ports, mailbox.run, step, { call: wanted });
  if (proposal.call !== null || awaitsSignal(step)) proposal = await withFacts(ports, mailbox.run, step, proposal);
  for (;;) {
    if (proposal.call?.key != null) ports.failpoint("start.before");
    try {
      const now = ports.clock.now();
      proposal = priced(ports, mailbox.run, step, proposal, now);
      const decision = await mailbox.ask(new Start(now, step_id, proposal, way));
      if (decision.need === null) return decision;
      proposal = await supplied(way, step, proposal, decision.need, loan);
    } catch (error) {
      if (!(error instanceof RowLost)) throw error;
      proposal = await mended(way, step, proposal, error.landing);
    }
  }
}

/** What was asked for with, as it turned out to be. */
async function mended({ ports, mailbox }: Way, step: Step, proposal: Proposal, found: Lost): Promise<Proposal> {
  if (found.why === "charge") return withUsed(proposal, found.tally, found.used);
  // The policies are others now, or someone has halted it or closed its project, or lets it go on.
  if (found.why === "check" && found.table === "setting")
    await (found.key === policyJournal
      ? ports.policies.readAnew(mailbox.run.tenant)
      : ports.halts.readAnew(mailbox.run));
  // What was shown may have changed since it was looked at.
  if (found.why === "check" && found.table === "project") return { ...proposal, pins: null };
  // The ledger said something else by the time it was asked.
  return withFacts(ports, mailbox.run, step, proposal);
}

type Lost = RowLost["landing"];

async function supplied(way: Way, step: Step, proposal: Proposal, need: Need, loan: Loan): Promise<Proposal> {
  const { ports, mailbox, kin } = way;
  switch (need) {
    case "call":
      return propose(ports, mailbox.run, step, { call: true });
    case "captures":
      return withCaptures(way, step, proposal, loan);
    case "preview":
      return withPreview(way, step, proposal, loan);
    case "pins":
      return withPins(ports, mailbox.run, findStep(mailbox.run, step.spec.step_id) ?? step, proposal);
    case "usage":
      return withUsage(ports, mailbox.run, proposal);
    case "sighting":
      return sighted(ports, step, proposal);
    case "child": {
      // What is asked for in the name of this run, and when, is for whoever holds it to say.
      if (!(await ports.leases.holds(way.claim)))
        throw new Fenced("the run was claimed again before it asked for another");
      const flaw = await kin.bear(mailbox.run, step, proposal.input);
      return flaw === null ? withFacts(ports, mailbox.run, step, proposal) : { ...proposal, flaw };
    }
  }
}

/**
 * The wish to start. Who else is in flight is listed when the law reads it, which it hardly ever does: of a thousand steps
 * that set out together each would list all before it. A class, because an object with a getter takes ten times as long.
 */
class Start implements Ask<"start"> {
  readonly type = "start";
  readonly now: Instant;
  readonly step_id: StepId;
  readonly proposal: Proposal;
  readonly policy: Policy | null;
  readonly halts: HaltFact;
  readonly #way: Way;
  readonly #first: number;

  constructor(now: Instant, step_id: StepId, proposal: Proposal, way: Way) {
    this.now = now;
    this.step_id = step_id;
    this.proposal = proposal;
    this.policy = way.ports.policies.of(way.mailbox.run);
    this.halts = way.ports.halts.of(way.mailbox.run);
    this.#way = way;
    this.#first = way.setOut();
  }

  get in_flight(): readonly StepId[] {
    return this.#way.inFlight(this.#first);
  }
}

async function sighted(ports: Ports, step: Step, proposal: Proposal): Promise<Proposal> {
  const { ledger, call } = proposal;
  const tool = ports.toolbox.get(step.spec.name);
  assert(ledger !== null && call?.key != null && tool !== undefined, "only a recorded act is confirmed");
  const asked = {
    input: call.input,
    output: ledger.receipt?.output ?? null,
    since: ledger.receipt?.at ?? (0 as Instant),
  };
  const { sighting } = await ask(ports, tool, { ...asked, key: downstreamKey(call.key, ledger.row.generation) });
  return { ...proposal, ledger: { ...ledger, sighting } };
}

/** An act is about to be called. */
async function mark({ ports, claim }: Way, { step_id, attempt }: Grant): Promise<void> {
  ports.failpoint("start.after");
  if (!(await ports.store.mark(claim, step_id, attempt))) throw new Fenced("the run was claimed again before the call");
  ports.failpoint("mark.after");
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
 * This process may have stood still for longer than the lease lasts. False: the store cannot say whose the run is, and the call
 * whose start is on record is not made. Where nothing is on record there is nothing to end: the store's fault is all there is.
 */
async function isHeld({ ports, claim }: Way, { recorded }: Grant): Promise<boolean> {
  try {
    if (await ports.leases.holds(claim)) return true;
  } catch (error) {
    if (recorded && isStoreFault(error)) return false;
    throw error;
  }
  throw new Fenced("the run was claimed again while this process stood still");
}

/** The store took so long that a call could no longer be told from one that never was, or outlives its promise. */
function isTooLate(run: Run, { step_id, started_at }: Grant, now: Instant): boolean {
  const until = findStep(run, step_id)?.act?.doubt?.doubt.exits.resend_until ?? null;
  return now - started_at > CALL_WITHIN_MS || (until !== null && now >= until);
}

const UNCALLED = uncalled("the store took too long to let the call go; it was not made");

const HALTED = uncalled("it was halted while the store let the call wait; it was not made");

function uncalled(why: string): Execution {
  const ending = { how: "not_done", fault: fault("DEPENDENCY_UNAVAILABLE", why) } as const;
  return { ending, cost: null, errands: [], notices: [], heartbeat: null };
}

/** Whether someone said so after its start was judged, which was no more than a moment ago unless the store is slow. */
async function isHaltedSince({ ports, mailbox: { run } }: Way, step: Step, { started_at }: Grant): Promise<boolean> {
  if (isUndo(step) || ports.clock.now() - started_at < MOMENT_MS) return false;
  await ports.halts.readAnew(run);
  return ports.halts.of(run).halt !== null;
}

/** Nothing new begins a second after it was halted. */
const MOMENT_MS = 500;

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
  const longest =
    run.deadline_at === null || undo ? Number.POSITIVE_INFINITY : Math.max(1, run.deadline_at - ports.clock.now());
  const own = spec.timeout_ms ?? tool.timeoutMs;
  return {
    tool,
    handler,
    context,
    desk: place.desk,
    borrowed: place.borrowed,
    checked: !undo,
    timeoutMs: Math.min(own, longest),
    lastOfRun: longest < own,
    expected: costExpected(estimate),
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
    ...(closings && { closings }),
    dice: succeeded && desk === null ? 0 : ports.dice(),
    in_flight: succeeded ? NONE : way.inFlight(),
    confirmed,
  };
  return mailbox.ask(desk === null || !succeeded ? ended : maybeFailing(way, ended));
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
