import { assert, unreachable } from "./assert.ts";
import { report } from "./child.ts";
import type { Command, Grant } from "./command.ts";
import { end, uncompensated } from "./decide/end.ts";
import { approve, expire, reject } from "./decide/gate.ts";
import { accept, alert, cancel, close, deliver, propose, restore, resume, tellUndone, wake } from "./decide/life.ts";
import { restored, restoring } from "./decide/restoring.ts";
import { recover, resolve, settle, supersede } from "./decide/settle.ts";
import { start } from "./decide/start.ts";
import { signal } from "./decide/wait.ts";
import type { EndStatus, Event } from "./event.ts";
import { evolve } from "./evolve.ts";
import type { Fault } from "./fault.ts";
import type { Guard } from "./guard.ts";
import type { GateId, Instant } from "./id.ts";
import type { Need, Ruling } from "./ruling.ts";
import { type Run, stepOf } from "./run.ts";
import { isUndo } from "./step.ts";
import type { Check } from "./store.ts";

export interface Decision {
  readonly events: readonly Event[];
  readonly after: Run;
  /** Indices of the steps that these events made ready. */
  readonly fresh: readonly number[];
  readonly checks: readonly Check[];
  readonly grant: Grant | null;
  readonly refusal: Fault | null;
  readonly need: Need | null;
}

/**
 * The law of a run: what follows, given what happened and what is asked.
 * A refusal is a fact, so it is an event. An impossibility is a bug, so it is an assertion.
 */
export function decide(run: Run, command: Command, guards: readonly Guard[]): Decision {
  const ruling = rule(run, command, guards);
  const { events, after, fresh } =
    ruling.events.length === 0 ? { events: NONE, after: run, fresh: NONE } : following(run, ruling.events, command.now);
  return {
    events,
    after,
    fresh,
    checks: ruling.checks ?? NONE,
    grant: ruling.grant ?? null,
    refusal: ruling.refusal ?? null,
    need: ruling.need ?? null,
  };
}

const NONE: readonly never[] = [];

/** What was ruled, and what follows from it at once. */
function following(run: Run, ruled: readonly Event[], at: Instant): Pick<Decision, "events" | "after" | "fresh"> {
  const story = new Story(run);
  for (const event of ruled) story.happen(event);
  for (const event of undoesRefused(ruled, story.after, at)) story.happen(event);
  // A gate whose step no longer waits for it lets nobody through.
  for (let next = 0; next < story.deserted.length; next += 1) {
    const gate_id = story.deserted[next] as GateId;
    story.happen({ type: "gate.closed", at, gate_id, reason: "the step no longer waits" });
  }
  if (isOver(story.after)) story.happen(ending(story.after, at));
  return story;
}

/** What happens one after the other, and what it comes to. */
class Story {
  readonly events: Event[] = [];
  fresh: readonly number[] = NONE;
  deserted: readonly GateId[] = NONE;
  after: Run;

  constructor(before: Run) {
    this.after = before;
  }

  happen(event: Event): void {
    this.events.push(event);
    this.after = evolve(this.after, event);
    const { fresh, deserted } = this.after;
    if (fresh.length > 0) this.fresh = this.fresh.length === 0 ? fresh : [...this.fresh, ...fresh];
    if (deserted.length > 0) this.deserted = [...this.deserted, ...deserted];
  }
}

function rule(run: Run, command: Command, guards: readonly Guard[]): Ruling {
  assert(command.type === "accept" || run.position > 0, "only an accepted run is asked for anything");
  // The store looks a run up by the tenant of whoever asks, so that nobody finds another's; this is what it rests on.
  assert(!("principal" in command) || command.principal.tenant === run.tenant, "a run is commanded by its own tenant");
  switch (command.type) {
    case "accept":
      return accept(run, command);
    case "propose":
      return propose(run, command);
    case "close":
      return close(run, command);
    case "start":
      return start(run, command, guards);
    case "end":
      return end(run, command);
    case "recover":
      return recover(run, command);
    case "settle":
      return settle(run, command);
    case "resolve":
      return resolve(run, command);
    case "approve":
      return approve(run, command);
    case "reject":
      return reject(run, command);
    case "expire":
      return expire(run, command);
    case "supersede":
      return supersede(run, command);
    case "cancel":
      return cancel(run, command);
    case "tell_undone":
      return tellUndone(command);
    case "wake":
      return wake(run, command);
    case "resume":
      return resume(run, command);
    case "restoring":
      return restoring(run, command);
    case "restored":
      return restored(run, command);
    case "restore":
      return restore(run, command);
    case "alert":
      return alert(run, command);
    case "deliver":
      return deliver(run, command);
    case "signal":
      return signal(run, command);
    default:
      return unreachable(command);
  }
}

/** An undo that was not let through leaves its act as it is: done, and not undone. */
function undoesRefused(events: readonly Event[], after: Run, at: Instant): readonly Event[] {
  const more: Event[] = [];
  for (const event of events) {
    const refused = "gate_id" in event ? after.gates.get(event.gate_id) : event.type === "step.rejected" && event;
    const undo = refused ? stepOf(after, refused) : null;
    if (undo?.cause?.by !== "undo" || undo.standing.state !== "rejected") continue;
    more.push(uncompensated(after, undo.cause.of, undo.standing.fault, at));
  }
  return more;
}

function isOver(run: Run): boolean {
  const { moving, retrying, waiting } = run.paces;
  if (run.ended !== null || run.open || moving + retrying + waiting > 0) return false;
  assert(run.paces.blocked === 0, "a step that waits for another has one to wait for");
  return true;
}

/** Whoever asked for the run is told how it ended. */
function ending(run: Run, at: Instant): Event {
  const status = endStatus(run);
  const told = run.parent === null ? {} : { notices: [report(run, run.parent, status)] };
  return { type: "run.ended", at, status, ...told };
}

function endStatus(run: Run): EndStatus {
  if (run.cancel !== null) return "cancelled";
  let asked = 0;
  for (const step of run.steps) if (!isUndo(step)) asked += 1;
  if (run.succeeded === asked) return "completed";
  return run.succeeded > 0 ? "partial" : "failed";
}
