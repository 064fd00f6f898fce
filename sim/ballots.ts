import type { Event } from "../src/core/event.ts";
import type { GateId, StepId } from "../src/core/id.ts";
import type { Principal } from "../src/core/principal.ts";
import type { Asking } from "./rules.ts";

/** Somebody's yes. */
export interface Cast {
  readonly by: string;
  readonly roles: readonly string[];
  readonly at: number;
}

/** The yeses to one held call, counted by hand. */
export interface Ballot {
  readonly step: StepId;
  readonly opened: number;
  digest: string;
  casts: readonly Cast[];
  /** Somebody changed the call. */
  edited: boolean;
}

/** What people have said to the held calls of a run, told from its events and from nothing else. */
export class Ballots {
  readonly #all = new Map<GateId, Ballot>();

  get(gate: GateId): Ballot | undefined {
    return this.#all.get(gate);
  }

  open({ gate_id, step_id, at, call, votes = [] }: Extract<Event, { type: "gate.opened" }>): Ballot {
    const ballot: Ballot = { step: step_id, opened: at, digest: call.digest, casts: [...votes], edited: false };
    this.#all.set(gate_id, ballot);
    return ballot;
  }

  /** Whether this very yes was said at an earlier gate, to this very call. */
  wasSaid({ by, at }: Cast, { step, digest }: Ballot, since: GateId): boolean {
    for (const [gate, other] of this.#all) {
      const same = gate !== since && other.step === step && other.digest === digest;
      if (same && other.casts.some((cast) => cast.by === by && cast.at === at)) return true;
    }
    return false;
  }

  say(gate: GateId, { id, roles = [] }: Principal, at: number): void {
    const ballot = this.#all.get(gate);
    if (ballot !== undefined) ballot.casts = [...ballot.casts, { by: id, roles, at }];
  }

  /** Yes to another call: what was said of the first is void. */
  edit(gate: GateId, { id, roles = [] }: Principal, at: number, digest: string): void {
    const ballot = this.#all.get(gate);
    if (ballot === undefined) return;
    ballot.digest = digest;
    ballot.casts = [{ by: id, roles, at }];
    ballot.edited = true;
  }

  /** Whether somebody has changed a call of this step. */
  wasEdited(step: StepId): boolean {
    for (const ballot of this.#all.values()) if (ballot.step === step && ballot.edited) return true;
    return false;
  }
}

/** Whether somebody's yes counts for those who are asked for; null: anybody is, but who asked. */
export function isAsked(asking: Asking | null, opened: number, asker: string, { by, roles, at }: Cast): boolean {
  if (by === asker) return false;
  if (asking === null || roles.includes(asking.role)) return true;
  return asking.later !== null && at >= opened + asking.later.ms && roles.includes(asking.later.role);
}

/** Whether as many different people have said it as are asked for. */
export function suffices(asking: Asking | null, { opened, casts }: Ballot, asker: string): boolean {
  const people = new Set(casts.filter((cast) => isAsked(asking, opened, asker, cast)).map(({ by }) => by));
  return people.size >= (asking?.people ?? 1);
}
