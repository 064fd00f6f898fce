import { assert, unreachable } from "../assert.ts";
import type { Event, StepEvent } from "../event.ts";
import { fault } from "../fault.ts";
import { placed, sunk, withStep } from "../place.ts";
import { full } from "../plan.ts";
import { type Run, stepOf } from "../run.ts";
import { type Act, type Step, undoId } from "../step.ts";
import type { Cost } from "../tool.ts";
import { readied, withGate } from "./gate.ts";

/** What a run is after one more fact about a step. */
export function evolveStep(run: Run, event: Event & StepEvent): Run {
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
      return sunk(placed(tried(run, step, event), { ...step, attempts: event.attempt }, { state: "cancelled" }), step);
    case "step.doubted":
      return doubted(run, step, event);
    case "step.probed":
      return probed(run, step, event);
    case "step.settled":
      return settled(run, step, event);
    case "step.readied":
      return readied(run, step);
    case "step.rejected":
      return sunk(
        placed(
          run,
          { ...step, world: "permanent_failure" },
          { state: "rejected", fault: event.fault, rule: event.rule },
        ),
        step,
        event.sparing,
      );
    case "step.parked":
      return placed(run, step, { state: "waiting", on: event.on });
    case "step.compensating":
      return compensating(run, step, event);
    case "step.compensated":
      return compensated(run, step, event);
    case "step.uncompensated": {
      const act = ledgered(step, event.ledger, "compensation_failed");
      return placed(run, { ...step, act }, { state: "compensation_failed", fault: event.fault });
    }
    case "evidence.kept":
      return run;
    default:
      return unreachable(event);
  }
}

type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** Nothing begins in a cancelled run but the undoing of what was done. */
function proposed(run: Run, event: Of<"step.proposed">): Run {
  const begins = run.cancel === null || event.cause.by === "undo";
  const step: Step = {
    index: run.steps.length,
    spec: full(event.step),
    pin: event.pin,
    cause: event.cause,
    missing: 0,
    standing: { state: begins ? "ready" : "cancelled" },
    attempts: 0,
    forgiven: 0,
    call: null,
    gate: null,
    act: null,
    world: null,
  };
  const { moving, done } = run.paces;
  return {
    ...run,
    ended: null,
    steps: run.steps.push(step),
    index: run.index.set(event.step_id, step.index),
    paces: begins ? { ...run.paces, moving: moving + 1 } : { ...run.paces, done: done + 1 },
    fresh: begins ? [...run.fresh, step.index] : run.fresh,
  };
}

function started(run: Run, step: Step, event: Of<"step.started">): Run {
  const act: Act | null = event.ledger && {
    ...event.ledger,
    state: "started",
    attempt: event.attempt,
    started_at: event.at,
    boot: event.boot,
    receipt: null,
    output: null,
    usable: true,
    resend: false,
  };
  const begun = { ...step, attempts: event.attempt, call: event.call, act };
  const after = placed(tried(run, step, { attempt: event.attempt }), begun, {
    state: "running",
    attempt: event.attempt,
    started_at: event.at,
  });
  const gate = event.gate && after.gates.get(event.gate.gate_id);
  return gate ? withGate(after, { ...gate, status: "consumed" }) : after;
}

function succeeded(run: Run, step: Step, event: Of<"step.succeeded">): Run {
  const act =
    event.ledger === undefined
      ? step.act
      : { ...ledgered(step, event.ledger, "committed"), receipt: run.position, output: event.output };
  const done = { ...step, attempts: event.attempt, act, world: event.world };
  const after = placed(tried(run, step, event), done, {
    state: "succeeded",
    output: event.output,
    reused: event.reused ?? null,
    outcome: event.outcome ?? null,
    at: event.at,
  });
  let notices = run.notices;
  for (const notice of event.notices ?? []) notices = notices.set(notice.notice_id, notice);
  return released({ ...after, notices, succeeded: after.succeeded + 1 }, step.index);
}

/** Everyone who waited for this step waits for one less. */
function released(run: Run, index: number): Run {
  let after = run;
  for (const at of run.dependents[index] ?? []) {
    const step = after.steps.get(at);
    if (step.standing.state !== "pending") continue;
    const nearer = { ...step, missing: step.missing - 1 };
    after = nearer.missing === 0 ? placed(after, nearer, { state: "ready" }) : withStep(after, nearer);
  }
  return after;
}

function failed(run: Run, step: Step, event: Of<"step.failed">): Run {
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
  const over = { ...step, attempts: event.attempt, act, world: event.world };
  const after = tried(run, step, event);
  if (event.retry_at !== null) {
    return placed(after, over, { state: "failed_retryable", fault: event.fault, retry_at: event.retry_at });
  }
  return sunk(placed(after, over, { state: "failed_final", fault: event.fault }), step, event.sparing);
}

function doubted(run: Run, step: Step, event: Of<"step.doubted">): Run {
  const act = ledgered(step, event.ledger, "in_doubt");
  const { exits } = event;
  const next = exits.verify || exits.resend_until !== null ? ({ do: "settle" } as const) : ({ do: "ask" } as const);
  return placed(
    tried(run, step, event),
    { ...step, act, world: "in_doubt" },
    {
      state: "in_doubt",
      fault: event.fault,
      since: event.at,
      doubt: { exits, absent_at: null, next },
    },
  );
}

function probed(run: Run, step: Step, event: Of<"step.probed">): Run {
  const { standing } = step;
  assert(standing.state === "in_doubt", "only an act in doubt is probed");
  const next = event.next_at === null ? ({ do: "ask" } as const) : ({ do: "look_again", at: event.next_at } as const);
  const absent_at = event.saw === "absent" ? event.at : null;
  return placed(run, step, { ...standing, doubt: { ...standing.doubt, absent_at, next } });
}

function settled(run: Run, step: Step, event: Of<"step.settled">): Run {
  const { settled: how, ledger } = event;
  if (how.as === "resend") {
    const act = {
      ...ledgered(step, { version: actOf(step).version, generation: actOf(step).generation }, "in_doubt"),
      resend: true,
    };
    return readied(run, { ...step, act } as Step);
  }
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
      return sunk(placed(run, bad, { state: "failed_final", fault: how.fault }), step, event.sparing);
    }
    const good = { ...step, act, world: "side_effect_committed" as const };
    const after = placed(run, good, {
      state: "succeeded",
      output: how.output,
      reused: null,
      outcome: null,
      at: event.at,
    });
    return released({ ...after, succeeded: after.succeeded + 1 }, step.index);
  }
  if (how.as === "given_up") {
    const lost = fault(
      "OUTCOME_UNKNOWN",
      `${event.by} gave up on ${step.spec.step_id}: ${event.reason || "no reason given"}`,
    );
    const over = { ...step, act: ledgered(step, ledger, "given_up"), world: "permanent_failure" as const };
    return sunk(placed(run, over, { state: "failed_final", fault: lost }), step, event.sparing);
  }
  return reopened(run, { ...step, act: ledgered(step, ledger, how.as) });
}

/** It did not happen: the step may run again, unless the run was cancelled meanwhile. */
function reopened(run: Run, step: Step): Run {
  return run.cancel === null ? readied(run, step) : placed(run, step, { state: "cancelled" });
}

function compensating(run: Run, step: Step, event: Of<"step.compensating">): Run {
  const act = ledgered(step, event.ledger, "compensating");
  const undo = undoId(step, act.generation);
  const counted = step.standing.state === "succeeded" ? { ...run, succeeded: run.succeeded - 1 } : run;
  return placed(counted, { ...step, act }, { state: "compensating", undo });
}

function compensated(run: Run, step: Step, event: Of<"step.compensated">): Run {
  const act = ledgered(step, event.ledger, "compensated");
  return sunk(
    placed(run, { ...step, act, world: "compensated" }, { state: "compensated", confirmed: event.confirmed }),
    step,
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
  return { ...actOf(step), ...row, state, resend: false };
}

/** An attempt counts once: when its start is recorded, or else when its end is. What it cost counts whenever it is told. */
function tried(run: Run, step: Step, { attempt, cost }: { readonly attempt: number; readonly cost?: Cost }): Run {
  const fresh = attempt > step.attempts ? 1 : 0;
  if (fresh === 0 && cost === undefined) return run;
  const { usd_micros, credits, tokens_in, tokens_out, attempts } = run.spent;
  return {
    ...run,
    spent: {
      usd_micros: usd_micros + (cost?.usd_micros ?? 0),
      credits: credits + (cost?.credits ?? 0),
      tokens_in: tokens_in + (cost?.tokens_in ?? 0),
      tokens_out: tokens_out + (cost?.tokens_out ?? 0),
      attempts: attempts + fresh,
    },
  };
}
