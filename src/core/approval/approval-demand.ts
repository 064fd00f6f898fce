import { isPlainObject } from "../json/plain-object.ts";
import type { Instant } from "../values/ids.ts";
import { isSamePerson, personKey } from "./person-key.ts";
import type { Principal } from "./principal.ts";

/** The approvals that a held call needs. An absent field demands the least. */
export interface Demand {
  /** The role that every approver must have; null: any person. */
  readonly role: string | null;
  /** Present: one approval is enough, also from the requester, who may give it in advance (`confirmed`). */
  readonly kind?: "confirmation";
  /** The number of different people. Absent: one. */
  readonly people?: number;
  /** The ids of the people who may approve. Absent: not restricted. */
  readonly approvers?: readonly string[];
  /** Present: the requester of the call may approve it. */
  readonly self?: true;
  /** The time allowed for the decision. Absent: the default expiry of gates. */
  readonly within_ms?: number;
  readonly escalate?: Escalation;
  /** Further demands, which must all be met too. */
  readonly and?: readonly Demand[];
}

/** The people who may also approve if no decision was made within a time. They are notified. */
export interface Escalation {
  readonly after_ms: number;
  readonly role: string | null;
  readonly approvers?: readonly string[];
}

/** An approval, with the roles that the approver had at the time. */
export interface Vote {
  readonly by: string;
  readonly roles: readonly string[];
  readonly at: Instant;
}

/** The data of a gate that decides which votes count. */
export interface VoteTerms {
  readonly demand: Demand;
  readonly requester: string;
  readonly opened_at: Instant;
}

export const ANY_PERSON: Demand = { role: null };

/** The limits on a demand. */
export const demandLimits = { people: 20, approvers: 200, ms: 366 * 24 * 60 * 60 * 1000 } as const;

/** Returns the parts of a demand. */
export function demandParts(demand: Demand): readonly Demand[] {
  return demand.and === undefined ? [demand] : [demand, ...demand.and];
}

/** True if enough people have approved every part. A person counts once per part. */
export function isDemandMet({ demand, ...poll }: VoteTerms, votes: readonly Vote[]): boolean {
  return demandParts(demand).every((part) => {
    const counted = new Set(votes.filter((vote) => countsFor(part, poll, vote)).map(({ by }) => personKey(by)));
    return counted.size >= (part.people ?? 1);
  });
}

/** True if no votes can meet the demand for a call of this requester, because it names too few other people. */
export function isUnmeetable(demand: Demand, requester: string): boolean {
  return demandParts(demand).some((part) => {
    const named = namedApprovers(part);
    if (named === null) return false;
    const others =
      part.self || part.kind === "confirmation" ? named : named.filter((id) => !isSamePerson(id, requester));
    return new Set(others.map(personKey)).size < (part.people ?? 1);
  });
}

/** Returns the people who may ever approve a part. Null: it does not name them. */
function namedApprovers({ approvers, escalate }: Demand): readonly string[] | null {
  if (approvers === undefined) return null;
  if (escalate === undefined) return approvers;
  return escalate.approvers === undefined ? null : [...approvers, ...escalate.approvers];
}

/** True if the vote counts for at least one part. */
export function mayVote({ demand, ...poll }: VoteTerms, vote: Vote): boolean {
  return demandParts(demand).some((part) => countsFor(part, poll, vote));
}

function countsFor(part: Demand, { requester, opened_at }: Omit<VoteTerms, "demand">, vote: Vote): boolean {
  if (isSamePerson(vote.by, requester) && !part.self && part.kind !== "confirmation") return false;
  const { escalate } = part;
  const isEscalated = escalate !== undefined && vote.at >= opened_at + escalate.after_ms;
  return isApprover(part, vote) || (isEscalated && isApprover(escalate, vote));
}

function isApprover({ role, approvers }: Pick<Demand, "role" | "approvers">, { by, roles }: Vote): boolean {
  return (role === null || roles.includes(role)) && (approvers?.includes(by) ?? true);
}

/** True if the demand asks for nothing but a confirmation. */
export function isConfirmation(demand: Demand): boolean {
  return demandParts(demand).every(({ kind }) => kind === "confirmation");
}

/** Returns a demand that is met only if both are met. A part that another part covers is omitted. */
export function combineDemands(one: Demand, two: Demand): Demand {
  const all = [...demandParts(one), ...demandParts(two)].map(({ and: _and, ...part }) => part);
  const needed = all.filter(
    (part, at) =>
      !all.some(
        (other, index) => index !== at && coversDemand(other, part) && !(coversDemand(part, other) && at < index),
      ),
  );
  const times = all.flatMap(({ within_ms }) => within_ms ?? []);
  const [first = ANY_PERSON, ...rest] = needed;
  const within = times.length === 0 ? {} : { within_ms: Math.min(...times) };
  return { ...first, ...within, ...(rest.length > 0 && { and: rest }) };
}

/** True if votes that meet the first demand always meet the second. Any approval meets a confirmation. */
export function coversDemand(first: Demand, second: Demand): boolean {
  if (second.kind === "confirmation") return true;
  if (first.kind === "confirmation" || (first.self === true && second.self !== true)) return false;
  if (second.role !== null && first.role !== second.role) return false;
  if ((first.people ?? 1) < (second.people ?? 1)) return false;
  if (second.approvers !== undefined && !isSubset(first.approvers, second.approvers)) return false;
  return first.escalate === undefined || (second.role === null && second.approvers === undefined);
}

function isSubset(some: readonly string[] | undefined, all: readonly string[]): boolean {
  return some?.every((one) => all.includes(one)) ?? false;
}

/** Returns the time of the next escalation after a time, or null. */
export function nextEscalationAt({ demand, opened_at }: VoteTerms, after: Instant): Instant | null {
  const times = demandParts(demand)
    .flatMap(({ escalate }) => (escalate === undefined ? [] : [opened_at + escalate.after_ms]))
    .filter((at) => at > after);
  return times.length === 0 ? null : (Math.min(...times) as Instant);
}

/** Describes a demand in words. */
export function demandText(demand: Demand): string {
  return demandParts(demand).map(partText).join(", and ");
}

function partText({ role, people = 1, approvers, kind, escalate }: Demand): string {
  const who =
    people === 1 ? (role === null ? "a person" : `a ${role}`) : `${people} ${role === null ? "people" : `of ${role}`}`;
  const among = approvers === undefined ? "" : ` among ${approvers.join(", ")}`;
  const later =
    escalate === undefined ? "" : `, later also ${escalate.approvers?.join(", ") ?? escalate.role ?? "anyone"}`;
  return `${who}${among}${kind === "confirmation" ? " or the requester" : ""}${later}`;
}

/** Returns the vote of a principal. */
export function toVote({ id, roles = [] }: Principal, at: Instant): Vote {
  return { by: id, roles, at };
}

/**
 * True for a valid demand. A guard may be written without a type checker, and an invalid demand must not be treated as
 * one that any person meets.
 */
export function isDemand(given: unknown): given is Demand {
  if (!isPlainObject(given)) return false;
  const { role, kind, people, approvers, self, within_ms, escalate, and, ...more } = given;
  return (
    Object.keys(more).length === 0 &&
    isApproverSet(role, approvers) &&
    (kind === undefined || (kind === "confirmation" && role === null && (approvers ?? people) === undefined)) &&
    (people === undefined || isCountUpTo(people, demandLimits.people)) &&
    (self === undefined || self === true) &&
    (within_ms === undefined || isCountUpTo(within_ms, demandLimits.ms)) &&
    (escalate === undefined || isEscalation(escalate)) &&
    (and === undefined || (Array.isArray(and) && and.every((part) => isDemand(part) && part.and === undefined)))
  );
}

function isEscalation(given: unknown): boolean {
  if (!isPlainObject(given)) return false;
  const { after_ms, role, approvers, ...more } = given;
  return Object.keys(more).length === 0 && isCountUpTo(after_ms, demandLimits.ms) && isApproverSet(role, approvers);
}

function isApproverSet(role: unknown, approvers: unknown): boolean {
  if (role !== null && typeof role !== "string") return false;
  if (approvers === undefined) return true;
  const isFilled = Array.isArray(approvers) && approvers.length >= 1 && approvers.length <= demandLimits.approvers;
  return isFilled && approvers.every((id) => typeof id === "string");
}

function isCountUpTo(value: unknown, most: number): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;
}
