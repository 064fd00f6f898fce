import type { Instant } from "./id.ts";
import { isPlainObject } from "./json/plain-object.ts";
import type { Principal } from "./principal.ts";

/** Who must say yes before a held call is made. What is left out asks for the least. */
export interface Demand {
  /** Each of them has it; null: anyone. */
  readonly role: string | null;
  /** Present: one person's yes will do, also that of whoever asked for the call, who may say it in advance (`confirmed`). */
  readonly kind?: "confirmation";
  /** How many, each counted once. Absent: one. */
  readonly people?: number;
  /** Only these, by id. */
  readonly approvers?: readonly string[];
  /** Present: whoever asked for the call may be one of them. */
  readonly self?: true;
  /** How long there is to decide. Absent: as long as gates stay open here. */
  readonly within_ms?: number;
  readonly escalate?: Escalation;
  /** What others ask for beside it: each has to be met by itself. */
  readonly and?: readonly Demand[];
}

/** Who else may say yes once nobody has for so long. They are told. */
export interface Escalation {
  readonly after_ms: number;
  readonly role: string | null;
  readonly approvers?: readonly string[];
}

/** A yes, and who it was that said it: roles may be others tomorrow. */
export interface Vote {
  readonly by: string;
  readonly roles: readonly string[];
  readonly at: Instant;
}

/** What votes are counted against. */
export interface Poll {
  readonly demand: Demand;
  readonly requester: string;
  readonly opened_at: Instant;
}

export const ANYONE: Demand = { role: null };

/** Every limit on a demand has a name. */
export const demandLimits = { people: 20, approvers: 200, ms: 366 * 24 * 60 * 60 * 1000 } as const;

/** Each part of a demand, by itself. */
export function partsOf(demand: Demand): readonly Demand[] {
  return demand.and === undefined ? [demand] : [demand, ...demand.and];
}

/** Whether enough people have said yes for every part. Nobody is counted twice in one. */
export function isMet({ demand, ...poll }: Poll, votes: readonly Vote[]): boolean {
  return partsOf(demand).every((part) => {
    const counted = new Set(votes.filter((vote) => fits(part, poll, vote)).map(({ by }) => by));
    return counted.size >= (part.people ?? 1);
  });
}

/** Whether the yes of this person would count for anything. */
export function mayVote({ demand, ...poll }: Poll, vote: Vote): boolean {
  return partsOf(demand).some((part) => fits(part, poll, vote));
}

function fits(part: Demand, { requester, opened_at }: Omit<Poll, "demand">, vote: Vote): boolean {
  if (vote.by === requester && !part.self && part.kind !== "confirmation") return false;
  const { escalate } = part;
  const late = escalate !== undefined && vote.at >= opened_at + escalate.after_ms;
  return isOne(part, vote) || (late && isOne(escalate, vote));
}

function isOne({ role, approvers }: Pick<Demand, "role" | "approvers">, { by, roles }: Vote): boolean {
  return (role === null || roles.includes(role)) && (approvers?.includes(by) ?? true);
}

/** Whether all that is asked for is that someone means it. */
export function isConfirmation(demand: Demand): boolean {
  return partsOf(demand).every(({ kind }) => kind === "confirmation");
}

/** All that is asked for by two. A part that another part is more than is left out, so that nobody is asked twice. */
export function bothOf(one: Demand, two: Demand): Demand {
  const all = [...partsOf(one), ...partsOf(two)].map(({ and: _and, ...part }) => part);
  const kept = all.filter(
    (part, at) =>
      !all.some((other, where) => where !== at && covers(other, part) && !(covers(part, other) && at < where)),
  );
  const times = all.flatMap(({ within_ms }) => within_ms ?? []);
  const [first = ANYONE, ...rest] = kept;
  const within = times.length === 0 ? {} : { within_ms: Math.min(...times) };
  return { ...first, ...within, ...(rest.length > 0 && { and: rest }) };
}

/** Whoever meets the first meets the second, at any time. Any yes is a confirmation. */
export function covers(first: Demand, second: Demand): boolean {
  if (second.kind === "confirmation") return true;
  if (first.kind === "confirmation" || (first.self === true && second.self !== true)) return false;
  if (second.role !== null && first.role !== second.role) return false;
  if ((first.people ?? 1) < (second.people ?? 1)) return false;
  if (second.approvers !== undefined && !isWithin(first.approvers, second.approvers)) return false;
  return first.escalate === undefined || (second.role === null && second.approvers === undefined);
}

function isWithin(some: readonly string[] | undefined, all: readonly string[]): boolean {
  return some?.every((one) => all.includes(one)) ?? false;
}

/** When the next circle of people may decide, after a moment; null: there is none. */
export function escalatesAfter({ demand, opened_at }: Poll, after: Instant): Instant | null {
  const times = partsOf(demand)
    .flatMap(({ escalate }) => (escalate === undefined ? [] : [opened_at + escalate.after_ms]))
    .filter((at) => at > after);
  return times.length === 0 ? null : (Math.min(...times) as Instant);
}

/** Who may say yes, as people say it. */
export function demandText(demand: Demand): string {
  return partsOf(demand).map(partText).join(", and ");
}

function partText({ role, people = 1, approvers, kind, escalate }: Demand): string {
  const who =
    people === 1 ? (role === null ? "a person" : `a ${role}`) : `${people} ${role === null ? "people" : `of ${role}`}`;
  const among = approvers === undefined ? "" : ` among ${approvers.join(", ")}`;
  const later =
    escalate === undefined ? "" : `, later also ${escalate.approvers?.join(", ") ?? escalate.role ?? "anyone"}`;
  return `${who}${among}${kind === "confirmation" ? " or whoever asked" : ""}${later}`;
}

/** Of someone, as far as a demand looks at them. */
export function voteOf({ id, roles = [] }: Principal, at: Instant): Vote {
  return { by: id, roles, at };
}

/** A guard may be written without a type checker; a demand that nobody can read must not pass for one that anyone meets. */
export function isDemand(given: unknown): given is Demand {
  if (!isPlainObject(given)) return false;
  const { role, kind, people, approvers, self, within_ms, escalate, and, ...more } = given;
  return (
    Object.keys(more).length === 0 &&
    isCircle(role, approvers) &&
    (kind === undefined || (kind === "confirmation" && role === null && (approvers ?? people) === undefined)) &&
    (people === undefined || isWhole(people, demandLimits.people)) &&
    (self === undefined || self === true) &&
    (within_ms === undefined || isWhole(within_ms, demandLimits.ms)) &&
    (escalate === undefined || isEscalation(escalate)) &&
    (and === undefined || (Array.isArray(and) && and.every((part) => isDemand(part) && part.and === undefined)))
  );
}

function isEscalation(given: unknown): boolean {
  if (!isPlainObject(given)) return false;
  const { after_ms, role, approvers, ...more } = given;
  return Object.keys(more).length === 0 && isWhole(after_ms, demandLimits.ms) && isCircle(role, approvers);
}

function isCircle(role: unknown, approvers: unknown): boolean {
  if (role !== null && typeof role !== "string") return false;
  if (approvers === undefined) return true;
  const some = Array.isArray(approvers) && approvers.length >= 1 && approvers.length <= demandLimits.approvers;
  return some && approvers.every((id) => typeof id === "string");
}

function isWhole(value: unknown, most: number): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;
}
