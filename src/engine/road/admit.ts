import { assert } from "../../core/assert.ts";
import type { Ask } from "../../core/command.ts";
import type { Decision } from "../../core/decide.ts";
import { worst } from "../../core/effect.ts";
import type { Policy } from "../../core/guard.ts";
import type { HaltFact } from "../../core/halt.ts";
import type { Instant, StepId } from "../../core/id.ts";
import type { Proposal } from "../../core/proposal.ts";
import type { Need } from "../../core/ruling.ts";
import { findStep, type Step } from "../../core/run.ts";
import { awaitsSignal } from "../../core/step.ts";
import type { Check } from "../../core/store.ts";
import { type Loan, withCaptures } from "../desk/loan.ts";
import { downstreamKey } from "../digest.ts";
import type { Ports } from "../ports.ts";
import { Fenced, RowLost } from "../record/mailbox.ts";
import { policyJournal } from "../rules/policies.ts";
import { tellAlerts } from "./alert.ts";
import { withFacts } from "./facts.ts";
import { priced, withUsage, withUsed } from "./fare.ts";
import { withPins, withPreview } from "./preview.ts";
import { propose } from "./propose.ts";
import { placesFor, withSeen } from "./seen.ts";
import { ask } from "./verify.ts";
import type { Way } from "./way.ts";

/**
 * Most steps act on nothing and need nobody's facts: nothing is written before they run, and nothing has to be waited for. Null:
 * something has.
 */
export function admitAtOnce(way: Way, step: Step): Decision | null {
  const { ports, mailbox } = way;
  if (!mailbox.isIdle || !isPlain(ports, step)) return null;
  const looking = ports.policies.reading(mailbox.run.tenant) ?? ports.halts.reading(mailbox.run);
  if (looking !== null) {
    looking.catch(() => {}); // Whoever admits it otherwise looks, too, and hears of it.
    return null;
  }
  const proposal = propose(ports, mailbox.run, step, { call: false });
  if (placesFor(ports, mailbox.run, step, proposal).length > 0) return null;
  const decision = proposal.call === null ? mailbox.answerAtOnce(startOf(way, step, proposal)) : null;
  return decision?.need === null ? decision : null;
}

/** Neither an act, nor one that is shown, shared or waited with. */
function isPlain({ toolbox }: Ports, step: Step): boolean {
  const { kind, name, effect } = step.spec;
  if (kind !== "operator" || wantsCall(step)) return false;
  return worst(effect, toolbox.facts(name)?.effect ?? "acts") !== "acts";
}

/** Asks for the right to run, with one more fact each time the law needs it. */
export async function admit(way: Way, step: Step, loan: Loan): Promise<Decision> {
  const { ports, mailbox } = way;
  const reading = ports.policies.reading(mailbox.run.tenant);
  if (reading !== null) await reading;
  const looking = ports.halts.reading(mailbox.run);
  if (looking !== null) await looking;
  let proposal = propose(ports, mailbox.run, step, { call: wantsCall(step) });
  if (proposal.call !== null || awaitsSignal(step)) proposal = await withFacts(ports, mailbox.run, step, proposal);
  for (;;) {
    if (proposal.call?.key != null) ports.failpoint("start.before");
    try {
      proposal = await withSeen(ports, mailbox.run, step, proposal);
      const start = startOf(way, step, proposal);
      proposal = start.proposal;
      const decision = await mailbox.ask(start);
      if (decision.need === null) {
        if (isUnpaid(decision)) await tellAlerts(way, proposal.tolls);
        return decision;
      }
      proposal = await supplied(way, step, proposal, decision.need, loan);
    } catch (error) {
      if (!(error instanceof RowLost)) throw error;
      proposal = await mended(way, step, proposal, error.landing);
    }
  }
}

/** Whoever spent the last of it may have died before anybody was told. */
function isUnpaid({ events }: Decision): boolean {
  return events.some((event) => event.type === "step.rejected" && event.rule === "budget");
}

/** Whether the call is looked at before it is known whether it may be made. */
function wantsCall({ spec }: Step): boolean {
  return spec.cache_policy !== "never" || spec.gate !== "none";
}

function startOf(way: Way, step: Step, proposal: Proposal): Start {
  const { ports, mailbox } = way;
  const now = ports.clock.now();
  return new Start(now, step.spec.step_id, priced(ports, mailbox.run, step, proposal, now), way);
}

/** What was asked for with, as it turned out to be. */
async function mended({ ports, mailbox }: Way, step: Step, proposal: Proposal, found: Lost): Promise<Proposal> {
  if (found.why === "charge" && found.tally !== proposal.record?.lost.tally)
    return withUsed(proposal, found.tally, found.used);
  // The policies are others now, or someone has halted it or closed its project, or lets it go on.
  if (found.why === "check" && found.table === "setting")
    await (found.key === policyJournal
      ? ports.policies.readAnew(mailbox.run.tenant)
      : ports.halts.readAnew(mailbox.run));
  // What was shown may have changed since it was looked at.
  if (found.why === "check" && found.table === "project") {
    ports.projects.doubt(mailbox.run.tenant, found.key);
    return { ...proposal, pins: null, seen: null };
  }
  // Nobody has asked for that run yet: what is known of its end is for whoever has.
  if (step.spec.kind === "run" && proposal.signal === null) return proposal;
  // The ledger said something else by the time it was asked, or what was trusted is trusted no more.
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
  readonly unruled: readonly Check[];
  readonly halts: HaltFact;
  readonly #way: Way;
  readonly #first: number;

  constructor(now: Instant, step_id: StepId, proposal: Proposal, way: Way) {
    this.now = now;
    this.step_id = step_id;
    this.proposal = proposal;
    this.policy = way.ports.policies.of(way.mailbox.run);
    this.unruled = this.policy === null ? way.ports.policies.asRead(way.mailbox.run.tenant) : NONE;
    this.halts = way.ports.halts.of(way.mailbox.run);
    this.#way = way;
    this.#first = way.setOut();
  }

  get in_flight(): readonly StepId[] {
    return this.#way.inFlight(this.#first);
  }
}

const NONE: readonly never[] = [];

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
