import type { Principal } from "../src/core/approval/principal.ts";
import type { Event } from "../src/core/event/event.ts";
import type { GateId, StepId } from "../src/core/values/ids.ts";
import type { RequiredVotes } from "./sim-rules.ts";

/** A vote to approve. */
export interface ModelVote {
  readonly by: string;
  readonly roles: readonly string[];
  readonly at: number;
}

/** The votes at one gate, counted independently of the engine. */
export interface GateVotes {
  readonly step: StepId;
  readonly opened: number;
  digest: string;
  votes: readonly ModelVote[];
  /** True if a person edited the call. */
  edited: boolean;
}

/** The votes at the gates of a run, derived from its events only. */
export class VoteModel {
  readonly #all = new Map<GateId, GateVotes>();

  get(gate: GateId): GateVotes | undefined {
    return this.#all.get(gate);
  }

  openGate({ gate_id, step_id, at, call, votes = [] }: Extract<Event, { type: "gate.opened" }>): GateVotes {
    const gateVotes: GateVotes = { step: step_id, opened: at, digest: call.digest, votes: [...votes], edited: false };
    this.#all.set(gate_id, gateVotes);
    return gateVotes;
  }

  /** True if this vote was cast at an earlier gate for the same call. */
  hasEarlierVote({ by, at }: ModelVote, { step, digest }: GateVotes, since: GateId): boolean {
    for (const [gate, other] of this.#all) {
      const same = gate !== since && other.step === step && other.digest === digest;
      if (same && other.votes.some((cast) => cast.by === by && cast.at === at)) return true;
    }
    return false;
  }

  addVote(gate: GateId, { id, roles = [] }: Principal, at: number): void {
    const gateVotes = this.#all.get(gate);
    if (gateVotes !== undefined) gateVotes.votes = [...gateVotes.votes, { by: id, roles, at }];
  }

  /** Replaces the call and its votes by the edited call and the vote of its editor. */
  replaceCall(gate: GateId, { id, roles = [] }: Principal, at: number, digest: string): void {
    const gateVotes = this.#all.get(gate);
    if (gateVotes === undefined) return;
    gateVotes.digest = digest;
    gateVotes.votes = [{ by: id, roles, at }];
    gateVotes.edited = true;
  }

  /** True if a person edited a call of this step. */
  wasEdited(step: StepId): boolean {
    for (const gateVotes of this.#all.values()) if (gateVotes.step === step && gateVotes.edited) return true;
    return false;
  }
}

/** True if the vote counts. Without required votes any person but the requester may vote. */
export function isVoteEligible(
  requiredVotes: RequiredVotes | null,
  opened: number,
  requester: string,
  { by, roles, at }: ModelVote,
): boolean {
  if (by === requester) return false;
  if (requiredVotes === null || roles.includes(requiredVotes.role)) return true;
  return (
    requiredVotes.escalation !== null &&
    at >= opened + requiredVotes.escalation.ms &&
    roles.includes(requiredVotes.escalation.role)
  );
}

/** True if enough different people have voted. */
export function hasEnoughVotes(
  requiredVotes: RequiredVotes | null,
  { opened, votes }: GateVotes,
  requester: string,
): boolean {
  const people = new Set(
    votes.filter((cast) => isVoteEligible(requiredVotes, opened, requester, cast)).map(({ by }) => by),
  );
  return people.size >= (requiredVotes?.people ?? 1);
}
