import { inWords } from "./in-words.ts";
import type { Driven } from "./program.ts";
import type { Fact, Scenario } from "./scenario.ts";
import type { Report } from "./task.ts";
import type { Deed } from "./witness.ts";

/** What is to be judged: what the record says of one story after the last start, beside what the world saw all along. */
export interface Case {
  /** The name of the story, under which the world knows it. */
  readonly name: string;
  readonly scenario: Scenario;
  readonly report: Report;
  readonly deeds: readonly Deed[];
  /** What somebody was told by any of the processes. */
  readonly told: readonly string[];
  readonly kills: number;
}

/** Something that must never be found. */
export interface Finding {
  /** twice: an effect happened again. lost: something told or promised is not there. untrue: the record lies. stuck: nobody goes on. */
  readonly kind: "twice" | "lost" | "untrue" | "stuck";
  readonly what: string;
}

/** What one story came to. */
interface Story {
  readonly scenario: Scenario;
  readonly rest: Driven;
  readonly deeds: readonly Deed[];
}

/** Everything in which the record and the world disagree, or that is left unfinished. None: the proof holds here. */
export function judge({ name, scenario, report, deeds, told, kills }: Case): readonly Finding[] {
  const rest = report.rest.runs[name];
  const again = report.again.runs[name];
  if (rest === undefined || again === undefined) return [found("lost", `nothing is known of ${name}`)];
  const own = deeds.filter(({ of }) => of === name);
  const story = { scenario, rest, deeds: own };
  const asked = (scenario.asks ?? []).filter((fact) => countOf(fact, own) > kills + 1);
  const findings = [
    ...Object.entries(scenario.acts).flatMap(([step, fact]) => acted(step, fact, story)),
    ...(scenario.elsewhere ?? []).flatMap((fact) => happened(fact, own)),
    ...asked.map(({ did }) => found("twice", `${did} was asked again though its answer was recorded`)),
    ...undelivered(rest, deeds),
    ...takenBack(told, rest),
    ...unfinished(rest, scenario),
    ...unless(sameRecord(rest, again), "untrue", "one more start changed the record"),
  ];
  return findings.map(({ kind, what }) => found(kind, `${name} (${rest.result.run_id}): ${what}; ${inWords(rest)}`));
}

/** What is wrong with a store as a whole, whatever stories it holds. */
export function judgeStore(
  { rest, again, deeds: before, leftovers }: Report,
  deeds: readonly Deed[],
): readonly Finding[] {
  const broken = [...rest.broken, ...again.broken];
  return [
    ...broken.map(({ run_id, position, what }) => found("untrue", `event ${position} of ${run_id} is broken: ${what}`)),
    ...leftovers.map((what) => found("stuck", what)),
    ...unless(deeds.length === before, "twice", "one more start did something to the world"),
  ];
}

/** How often something happened to the world. A world that looks at the key counts each key once. */
export function countOf({ did, to, deduped = false }: Fact, deeds: readonly Deed[]): number {
  const seen = deeds.filter((deed) => deed.did === did && deed.to === to);
  return deduped ? new Set(seen.map(({ key }) => key)).size : seen.length;
}

function happened(fact: Fact, deeds: readonly Deed[]): readonly Finding[] {
  const count = countOf(fact, deeds);
  return unless(count === 1, count > 1 ? "twice" : "lost", `${fact.did} to ${fact.to} was seen ${count} times`);
}

function acted(step: string, fact: Fact, { scenario, rest, deeds }: Story): readonly Finding[] {
  const { result, ledger } = rest;
  const count = countOf(fact, deeds);
  const state = result.steps[step]?.state ?? "never proposed";
  const row = ledger.find(({ step_id }) => step_id === step)?.state ?? "none";
  const said = `${step} is ${state}, its row ${row}, and the world saw it ${count} times`;
  if (count > 1) return [found("twice", said)];
  if (count === 0 && (state === "succeeded" || scenario.settles)) return [found("lost", said)];
  const denied = count > 0 && !mayHaveHappened(state, row);
  return unless(!denied && rowAgrees(row, count, scenario), "untrue", said);
}

/** What a step may be called that the world saw. Never failed, unless its row says that it happened all the same. */
function mayHaveHappened(state: string, row: string): boolean {
  if (state === "failed_final") return row === "committed";
  return ["succeeded", "in_doubt", "compensated", "waiting"].includes(state);
}

/** Whether a ledger row may be true of an act that the world saw so often, or not at all. */
function rowAgrees(row: string, count: number, { settles }: Scenario): boolean {
  switch (row) {
    case "none":
      return count === 0 || !settles; // The row of an equal act stands for it.
    case "not_done":
    case "absent":
      return count === 0;
    case "committed":
      return count === 1;
    case "compensated":
      return count === 1 || !settles; // Undone in doubt: it may never have been there.
    case "in_doubt":
      return !settles;
    default:
      return false; // started, compensating: nobody is at it any more.
  }
}

/** At least once: whatever was committed to be told has been told. */
function undelivered({ notices }: Driven, deeds: readonly Deed[]): readonly Finding[] {
  return notices
    .filter((id) => countOf({ did: "notice", to: id }, deeds) === 0)
    .map((id) => found("lost", `${id} was delivered to nobody`));
}

/** Whatever somebody was told is still so, or has been taken back on the record. */
function takenBack(told: readonly string[], { result, events }: Driven): readonly Finding[] {
  const stands = Object.entries(result.steps).filter(([, { state }]) => BUILT_ON.includes(state));
  const known = new Set([...events, ...stands.map(([step]) => `succeeded ${step}`)]);
  const gone = new Set(told.filter((what) => !known.has(what)));
  return [...gone].map((what) => found("lost", `someone was told "${what}", and there is no trace of it`));
}

/** What a step that succeeded may have become. */
const BUILT_ON: readonly string[] = ["succeeded", "compensating", "compensated", "compensation_failed"];

function unfinished({ result }: Driven, scenario: Scenario): readonly Finding[] {
  const states = Object.entries(result.steps).map(([step, { state }]) => ({ step, state }));
  const doubted = states.some(({ state }) => state === "in_doubt");
  const left = states.filter(({ state }) => MOVING.includes(state) || (state === "pending" && !doubted));
  return [
    ...left.map(({ step, state }) => found("stuck", `${step} is left ${state}`)),
    ...unless(scenario.ends.includes(result.status), "untrue", `the run is ${result.status}`),
    ...unless(result.final || doubted, "stuck", "the run has not ended"),
    ...unless(!doubted || !scenario.settles, "stuck", "a doubt is left that could be settled"),
  ];
}

const MOVING: readonly string[] = ["ready", "running", "failed_retryable", "compensating", "waiting_approval"];

/** A step behind an equal act in doubt looks again now and then, which is all that may be new. */
function sameRecord(rest: Driven, again: Driven): boolean {
  const fixed = ({ result: { blocked_on: _, ...result }, ledger, notices, events }: Driven) =>
    JSON.stringify([result, ledger, notices, events.filter((event) => !event.startsWith("step.parked"))]);
  return fixed(rest) === fixed(again);
}

function unless(right: boolean, kind: Finding["kind"], what: string): readonly Finding[] {
  return right ? [] : [found(kind, what)];
}

function found(kind: Finding["kind"], what: string): Finding {
  return { kind, what };
}
