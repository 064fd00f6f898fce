import type { Driven } from "./program.ts";
import type { Fact, Scenario } from "./scenario.ts";
import type { Report } from "./task.ts";
import type { Deed } from "./witness.ts";

/** What is to be judged: what the record says after the last start, beside what the world saw all along. */
export interface Case {
  readonly scenario: Scenario;
  readonly report: Report;
  readonly deeds: readonly Deed[];
  readonly kills: number;
}

/** Something that must never be found. */
export interface Finding {
  /** twice: an effect happened again. lost: something told or promised is not there. untrue: the record lies. stuck: nobody goes on. */
  readonly kind: "twice" | "lost" | "untrue" | "stuck";
  readonly what: string;
}

/** Everything in which the record and the world disagree, or that is left unfinished. None: the proof holds here. */
export function judge(facts: Case): readonly Finding[] {
  const { scenario, report, deeds, kills } = facts;
  const asked = (scenario.asks ?? []).filter((fact) => countOf(fact, deeds) > kills + 1);
  return [
    ...Object.entries(scenario.acts).flatMap(([step, fact]) => acted(step, fact, facts)),
    ...asked.map(({ did }) => found("twice", `${did} was asked again though its answer was recorded`)),
    ...undelivered(report.rest, deeds),
    ...unfinished(report.rest, scenario),
    ...report.rest.audit.broken.map(({ position, what }) => found("untrue", `event ${position} is broken: ${what}`)),
    ...unless(sameRecord(report), "untrue", "one more start changed the record"),
    ...unless(deeds.length === report.deeds, "twice", "one more start did something to the world"),
  ];
}

/** How often something happened to the world. A world that looks at the key counts each key once. */
export function countOf({ did, to, deduped = false }: Fact, deeds: readonly Deed[]): number {
  const seen = deeds.filter((deed) => deed.did === did && deed.to === to);
  return deduped ? new Set(seen.map(({ key }) => key)).size : seen.length;
}

function acted(step: string, fact: Fact, { scenario, report, deeds }: Case): readonly Finding[] {
  const { result, ledger } = report.rest;
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
function sameRecord({ rest, again }: Report): boolean {
  const fixed = ({ result: { blocked_on: _, ...result }, ledger, notices, events }: Driven) =>
    JSON.stringify([result, ledger, notices, events.filter((type) => type !== "step.parked")]);
  return fixed(rest) === fixed(again);
}

function unless(right: boolean, kind: Finding["kind"], what: string): readonly Finding[] {
  return right ? [] : [found(kind, what)];
}

function found(kind: Finding["kind"], what: string): Finding {
  return { kind, what };
}
