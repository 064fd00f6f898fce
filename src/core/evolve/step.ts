import { assert, unreachable } from "../assert.ts";
import type { Call, Event, StepEvent } from "../event.ts";
import { fault, isForgiven } from "../fault.ts";
import type { StepId } from "../id.ts";
import type { Charged, Reserved } from "../limits/charged.ts";
import { amountOf } from "../limits/tally.ts";
import { placed, reopened, sunk, withStep } from "../place.ts";
import { full } from "../plan/plan.ts";
import { provenanceOf } from "../provenance.ts";
import type { Capture } from "../resource.ts";
import { findStep, type MutableRun, stepOf } from "../run.ts";
import { type Act, copyOf, isUndo, pace, type Reservation, type Step, undoId } from "../step.ts";
import type { Cost } from "../tool.ts";
import { withGate } from "./gate.ts";

/** What a run is after one more fact about a step. */
export function evolveStep(run: MutableRun, event: Event & StepEvent): MutableRun {
  if (event.type === "step.proposed") return proposed(run, event);
  const step = stepOf(run, event);
  switch (event.type) {
    case "step.started":
      return started(run, step, event);
    case "step.succeeded":
      return succeeded(run, step, event);
    case "step.failed":
      return failed(run, step, event);
    case "step.cancelled":
      return dropped(run, step, event);
    case "step.doubted":
      return doubted(run, step, event);
    case "step.probed":
      return probed(run, step, event);
    case "step.settled":
      return settled(run, step, event);
    case "step.readied":
      return reopened(run, pace(step.standing) === "done" ? { ...step, forgiven: step.attempts } : step);
    case "step.restoring":
      return run;
    case "step.restored":
      return withStep(run, { ...step, captures: NONE });
    case "step.rejected": {
      if (event.fault.code === "ABORTED") return placed(run, step, { state: "skipped", fault: event.fault });
      const over = { ...step, world: "permanent_failure" as const };
      return sunk(placed(run, over, { state: "rejected", fault: event.fault, rule: event.rule }), step, event);
    }
    case "step.parked":
      return placed(run, step, { state: "waiting", on: event.on });
    case "step.compensating":
      return compensating(run, step, event);
    case "step.compensated":
      return compensated(run, step, event);
    case "step.uncompensated": {
      const act = ledgered(step, event.ledger, "compensation_failed");
      return sunk(placed(run, { ...step, act }, { state: "compensation_failed", fault: event.fault }), step, event);
    }
    case "step.superseded":
      return withStep(run, { ...step, act: { ...actOf(step), superseded: true } });
    case "evidence.kept":
      return run;
    default:
      return unreachable(event);
  }
}

type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** Nothing begins in a run that was cancelled or ended by a step, but the undoing of what was done. */
function proposed(run: MutableRun, event: Of<"step.proposed">): MutableRun {
  assert(!run.index.has(event.step_id), `no other step is called ${event.step_id}`);
  const step: Step = {
    index: run.steps.length,
    spec: full(event.step),
    pin: event.pin,
    cause: event.cause,
    missing: 0,
    standing: { state: "ready" },
    attempts: 0,
    forgiven: 0,
    call: null,
    gate: null,
    act: null,
    reserved: NONE,
    world: null,
    heartbeat: null,
    captures: NONE,
    checkpoint: null,
  };
  run.steps = run.steps.push(step);
  run.index = run.index.set(event.step_id, step.index);
  run.paces = { ...run.paces, moving: run.paces.moving + 1 };
  return reopened(run, step);
}

function started(run: MutableRun, step: Step, event: Of<"step.started">): MutableRun {
  const again = step.act?.doubt ? step.act : null;
  const act: Act | null = event.ledger && {
    state: "started",
    attempt: event.attempt,
    started_at: event.at,
    boot: event.boot,
    receipt: null,
    output: null,
    usable: true,
    sent_at: again?.sent_at ?? event.at,
    sends: (again?.sends ?? 0) + 1,
    doubt: again?.doubt ?? null,
    ...event.ledger,
  };
  const begun = copyOf(step);
  begun.captures = event.captures ?? NONE;
  for (const { resource, host } of begun.captures) if (host !== null) run.bound = { ...run.bound, [resource]: host };
  begun.attempts = event.attempt;
  begun.call = event.call;
  begun.act = act;
  begun.reserved = again === null ? reservationsOf(event.charges) : step.reserved;
  const standing = { state: "running", attempt: event.attempt, started_at: event.at } as const;
  const gate = event.gate && run.gates.get(event.gate.gate_id);
  if (gate) withGate(run, { ...gate, status: "consumed" });
  return placed(tried(run, step, event), begun, standing);
}

function reservationsOf(charges: readonly Reserved[] = NONE): readonly Reservation[] {
  return charges.flatMap(({ tally, unit, amount }) => (unit ? [{ tally, unit, charged: amount, told: 0 }] : []));
}

const NONE: readonly never[] = [];

/** What was charged and said since is remembered, so that the last word is about all of it. */
function chargedOn(
  { reserved }: Step,
  { charges = NONE, cost }: { readonly charges?: readonly Charged[]; readonly cost?: Cost },
): readonly Reservation[] {
  return reserved.map(({ tally, unit, charged, told }) => ({
    tally,
    unit,
    charged: charges.reduce((sum, each) => (each.tally === tally ? sum + each.amount : sum), charged),
    told: cost === undefined || unit === "calls" || unit === "ms" ? told : told + amountOf(unit, cost),
  }));
}

function succeeded(run: MutableRun, step: Step, event: Of<"step.succeeded">): MutableRun {
  const act =
    event.ledger === undefined
      ? step.act
      : { ...ledgered(step, event.ledger, "committed"), receipt: run.position, output: event.output };
  const done = copyOf(step);
  done.attempts = event.attempt;
  done.act = act;
  done.reserved = NONE;
  done.world = event.world;
  done.captures = NONE;
  done.checkpoint = checkpointOf(run, step, event, step.captures);
  placed(tried(run, step, event), done, {
    state: "succeeded",
    output: event.output,
    reused: event.reused ?? null,
    outcome: event.outcome ?? null,
    at: event.at,
  });
  for (const notice of event.notices ?? []) run.notices = run.notices.set(notice.notice_id, notice);
  return released(run, step);
}

function checkpointOf(
  { position }: MutableRun,
  step: Step,
  { base, state }: Pick<Of<"step.succeeded">, "base" | "state">,
  captures: readonly Capture[],
): Step["checkpoint"] {
  if (state !== undefined) return { before: state.version - 1, after: state.version, position, captures };
  if (base !== undefined) return { before: base, after: base, position, captures };
  return captures.length === 0 ? step.checkpoint : { before: 0, after: 0, position, captures };
}

/** Everyone who waited for this step waits for one less. */
function released(run: MutableRun, done: Step): MutableRun {
  if (!isUndo(done)) run.succeeded += 1;
  for (const at of run.dependents[done.index] ?? []) {
    const step = run.steps.get(at);
    if (step.standing.state !== "pending") continue;
    const nearer = copyOf(step);
    nearer.missing -= 1;
    if (nearer.missing === 0) placed(run, nearer, { state: "ready" });
    else withStep(run, nearer);
  }
  return run;
}

function failed(run: MutableRun, step: Step, event: Of<"step.failed">): MutableRun {
  const happened = event.output !== undefined;
  const act =
    event.ledger === undefined
      ? step.act
      : {
          ...ledgered(step, event.ledger, happened ? "committed" : "not_done"),
          receipt: happened ? run.position : null,
          output: event.output ?? null,
          usable: !happened,
        };
  const heartbeat = event.heartbeat ?? step.heartbeat;
  const checkpoint = checkpointOf(run, step, event, NONE);
  const forgiven = isForgiven(event.fault) ? step.forgiven + 1 : step.forgiven;
  const seen = { attempts: event.attempt, world: event.world, heartbeat, checkpoint };
  // The yes was to something else.
  const gate = event.fault.code === "PREVIEW_STALE" ? null : step.gate;
  const over = { ...step, ...seen, forgiven, act, gate, reserved: NONE };
  const after = tried(run, step, event);
  if (event.retry_at !== null) {
    return placed(after, over, { state: "failed_retryable", fault: event.fault, retry_at: event.retry_at });
  }
  return sunk(placed(after, over, { state: "failed_final", fault: event.fault }), step, event);
}

function doubted(run: MutableRun, step: Step, event: Of<"step.doubted">): MutableRun {
  const act = ledgered(step, event.ledger, "in_doubt");
  const { exits } = event;
  const next = exits.verify || exits.resend_until !== null ? ({ do: "settle" } as const) : ({ do: "ask" } as const);
  return placed(
    tried(run, step, event),
    {
      ...step,
      act,
      reserved: chargedOn(step, event),
      world: "in_doubt",
      heartbeat: event.heartbeat ?? step.heartbeat,
    },
    {
      state: "in_doubt",
      fault: event.fault,
      since: event.at,
      doubt: { exits, alive: event.alive ?? false, absent_at: null, next },
    },
  );
}

function probed(run: MutableRun, step: Step, event: Of<"step.probed">): MutableRun {
  const standing = step.standing.state === "in_doubt" ? step.standing : step.act?.doubt;
  assert(standing != null, "only an act in doubt is probed");
  const next = event.next_at === null ? ({ do: "ask" } as const) : ({ do: "look_again", at: event.next_at } as const);
  const absent_at = event.saw === "absent" ? event.at : null;
  return placed(run, step, { ...standing, doubt: { ...standing.doubt, absent_at, next } });
}

function settled(run: MutableRun, doubted: Step, event: Of<"step.settled">): MutableRun {
  const { settled: how, ledger } = event;
  if (how.as === "resend") return sentAgain(run, doubted);
  const step = { ...doubted, reserved: NONE };
  assert(ledger !== null, "settling an act changes its ledger row");
  if (how.as === "happened") {
    const act = {
      ...ledgered(step, ledger, "committed"),
      receipt: run.position,
      output: how.output,
      usable: how.fault === null,
    };
    if (how.fault !== null) {
      const bad = { ...step, act, world: "compensatable_failure" as const };
      return sunk(placed(run, bad, { state: "failed_final", fault: how.fault }), step, event);
    }
    const good = { ...step, act, world: "side_effect_committed" as const };
    const after = placed(run, good, {
      state: "succeeded",
      output: how.output,
      reused: null,
      outcome: provenanceOf(run.id, step, (step.call as Call).digest, null),
      at: event.at,
    });
    return released(after, step);
  }
  if (how.as === "given_up") {
    const lost = fault(
      "OUTCOME_UNKNOWN",
      `${event.by} gave up on ${step.spec.step_id}: ${event.reason || "no reason given"}`,
    );
    const over = { ...step, act: ledgered(step, ledger, "given_up"), world: "permanent_failure" as const };
    return sunk(placed(run, over, { state: "failed_final", fault: lost }), step, event);
  }
  return reopened(run, { ...step, act: ledgered(step, ledger, how.as), world: null });
}

/** The identical call may go out once more. Until it is answered, only a person could tell whether the first one did. */
function sentAgain(run: MutableRun, step: Step): MutableRun {
  const { standing } = step;
  assert(standing.state === "in_doubt", "only an act in doubt is sent again");
  const doubt = { ...standing, doubt: { ...standing.doubt, next: { do: "ask" } as const } };
  return placed(run, { ...step, act: { ...actOf(step), doubt } }, { state: "ready" });
}

function compensating(run: MutableRun, step: Step, event: Of<"step.compensating">): MutableRun {
  const act = ledgered(step, event.ledger, "compensating");
  const undo = undoId(step, act.generation);
  const counted = step.standing.state === "succeeded" ? withheld(run, step) : run;
  askedAgain(counted, undo, event.by);
  return placed(counted, { ...step, act }, { state: "compensating", undo });
}

/** An undo that is wanted once more is the wish of whoever wants it now. */
function askedAgain(run: MutableRun, undo: StepId, asked_by: string): void {
  const step = findStep(run, undo);
  if (step?.cause?.by === "undo") withStep(run, { ...step, cause: { ...step.cause, asked_by } });
}

/** It no longer stands: everyone who still waits has it to wait for again. */
function withheld(run: MutableRun, { index }: Step): MutableRun {
  run.succeeded -= 1;
  for (const at of run.dependents[index] ?? []) {
    const step = run.steps.get(at);
    if (step.standing.state === "pending") withStep(run, { ...step, missing: step.missing + 1 });
  }
  return run;
}

function compensated(run: MutableRun, step: Step, event: Of<"step.compensated">): MutableRun {
  const act = ledgered(step, event.ledger, "compensated");
  return sunk(
    placed(run, { ...step, act, world: "compensated" }, { state: "compensated", confirmed: event.confirmed }),
    step,
    event,
  );
}

function actOf(step: Step): Act {
  assert(step.act !== null, `${step.spec.step_id} has a ledger row`);
  return step.act;
}

function ledgered(
  step: Step,
  row: { readonly version: number; readonly generation: number },
  state: Act["state"],
): Act {
  return { ...actOf(step), ...row, state, doubt: null };
}

/** A step of an ended or cancelled plan had a handler running: what it cost is spent, and nothing else is left of it. */
function dropped(run: MutableRun, step: Step, event: Of<"step.cancelled">): MutableRun {
  const over = { ...step, attempts: event.attempt, reserved: NONE };
  const after = tried(run, step, event);
  if (step.standing.state === "skipped" || step.standing.state === "cancelled") return withStep(after, over);
  return sunk(placed(after, over, { state: "cancelled" }), step, event);
}

/** An attempt counts once: when its start is recorded, or else when its end is. What it cost counts whenever it is told. */
function tried(
  run: MutableRun,
  step: Step,
  { attempt, cost }: { readonly attempt: number; readonly cost?: Cost },
): MutableRun {
  const fresh = attempt > step.attempts ? 1 : 0;
  if (fresh === 0 && cost === undefined) return run;
  const { usd_micros, credits, tokens_in, tokens_out, attempts } = run.spent;
  run.spent = {
    usd_micros: usd_micros + (cost?.usd_micros ?? 0),
    credits: credits + (cost?.credits ?? 0),
    tokens_in: tokens_in + (cost?.tokens_in ?? 0),
    tokens_out: tokens_out + (cost?.tokens_out ?? 0),
    attempts: attempts + fresh,
  };
  return run;
}
