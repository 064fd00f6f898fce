import type { ChildReport } from "./child-task.ts";
import { describeRun } from "./describe-run.ts";
import type { FinalRun } from "./run-user-program.ts";
import type { ExpectedEffect, Scenario } from "./scenario.ts";
import type { WorldEntry } from "./world-log.ts";

/** The run of one scenario after the last start, and what the world saw. */
export interface RunUnderTest {
  /** The name of the scenario, under which the world log records it. */
  readonly name: string;
  readonly scenario: Scenario;
  readonly report: ChildReport;
  readonly entries: readonly WorldEntry[];
  /** The facts that any process reported to a caller. */
  readonly reported: readonly string[];
  readonly kills: number;
}

/** A violation. */
export interface CrashFinding {
  /**
   * twice: an effect happened again. lost: a reported or committed fact is missing. untrue: the journal disagrees with
   * the world. stuck: work is unfinished.
   */
  readonly kind: "twice" | "lost" | "untrue" | "stuck";
  readonly what: string;
}

/** The final run of a scenario, and the entries of the world about it. */
interface RunEvidence {
  readonly scenario: Scenario;
  readonly recovered: FinalRun;
  readonly entries: readonly WorldEntry[];
}

/** Returns every disagreement between journal and world, and all unfinished work. */
export function checkRun({ name, scenario, report, entries, reported, kills }: RunUnderTest): readonly CrashFinding[] {
  const recovered = report.recovered.runs[name];
  const restarted = report.restarted.runs[name];
  if (recovered === undefined || restarted === undefined) return [newFinding("lost", `there is no run of ${name}`)];
  const ownEntries = entries.filter(({ of }) => of === name);
  const evidence = { scenario, recovered, entries: ownEntries };
  const repeated = (scenario.calls ?? []).filter((effect) => countExpectedEffect(effect, ownEntries) > kills + 1);
  const findings = [
    ...Object.entries(scenario.acts).flatMap(([step, effect]) => checkAct(step, effect, evidence)),
    ...(scenario.indirectEffects ?? []).flatMap((effect) => checkHappened(effect, ownEntries)),
    ...repeated.map(({ did }) => newFinding("twice", `${did} was called again though its answer was recorded`)),
    ...checkNotices(recovered, entries),
    ...checkReported(reported, recovered),
    ...checkFinished(recovered, scenario),
    ...findingUnless(isSameRun(recovered, restarted), "untrue", "one more start changed the journal"),
  ];
  return findings.map(({ kind, what }) =>
    newFinding(kind, `${name} (${recovered.result.run_id}): ${what}; ${describeRun(recovered)}`),
  );
}

/** Returns the findings about a store, independent of its scenarios. */
export function checkStore(
  { recovered, restarted, entries: before, leftovers }: ChildReport,
  entries: readonly WorldEntry[],
): readonly CrashFinding[] {
  const broken = [...recovered.broken, ...restarted.broken];
  return [
    ...broken.map(({ run_id, position, what }) =>
      newFinding("untrue", `event ${position} of ${run_id} is broken: ${what}`),
    ),
    ...leftovers.map((what) => newFinding("stuck", what)),
    ...findingUnless(entries.length === before, "twice", "one more start changed the world"),
  ];
}

/** Counts an effect in the world. A world that deduplicates by key counts each key once. */
export function countExpectedEffect(
  { did, to, deduped = false }: ExpectedEffect,
  entries: readonly WorldEntry[],
): number {
  const matching = entries.filter((entry) => entry.did === did && entry.to === to);
  return deduped ? new Set(matching.map(({ key }) => key)).size : matching.length;
}

function checkHappened(effect: ExpectedEffect, entries: readonly WorldEntry[]): readonly CrashFinding[] {
  const count = countExpectedEffect(effect, entries);
  return findingUnless(
    count === 1,
    count > 1 ? "twice" : "lost",
    `${effect.did} to ${effect.to} happened ${count} times`,
  );
}

function checkAct(
  step: string,
  effect: ExpectedEffect,
  { scenario, recovered, entries }: RunEvidence,
): readonly CrashFinding[] {
  const { result, ledger } = recovered;
  const count = countExpectedEffect(effect, entries);
  const state = result.steps[step]?.state ?? "never proposed";
  const row = ledger.find(({ step_id }) => step_id === step)?.state ?? "none";
  const description = `${step} is ${state}, its ledger row ${row}, and it happened ${count} times`;
  if (count > 1) return [newFinding("twice", description)];
  if (count === 0 && (state === "succeeded" || scenario.settlesAllDoubts)) return [newFinding("lost", description)];
  const isDenied = count > 0 && !mayHaveHappened(state, row);
  return findingUnless(!isDenied && isLedgerRowTrue(row, count, scenario), "untrue", description);
}

/** True if a step in this state may have happened. A failed step may not, unless its ledger row says committed. */
function mayHaveHappened(state: string, row: string): boolean {
  if (state === "failed_final") return row === "committed";
  return ["succeeded", "in_doubt", "compensated", "waiting"].includes(state);
}

/** True if the ledger row fits the number of times that the act happened. */
function isLedgerRowTrue(row: string, count: number, { settlesAllDoubts }: Scenario): boolean {
  switch (row) {
    case "none":
      return count === 0 || !settlesAllDoubts; // An equal act owns the row.
    case "not_done":
    case "absent":
      return count === 0;
    case "committed":
      return count === 1;
    case "compensated":
      return count === 1 || !settlesAllDoubts; // It was undone in doubt and may never have happened.
    case "in_doubt":
      return !settlesAllDoubts;
    default:
      return false; // started and compensating are not final.
  }
}

/** Every committed notice is delivered at least once. */
function checkNotices({ notices }: FinalRun, entries: readonly WorldEntry[]): readonly CrashFinding[] {
  return notices
    .filter((id) => countExpectedEffect({ did: "notice", to: id }, entries) === 0)
    .map((id) => newFinding("lost", `${id} was never delivered`));
}

/** Every reported fact still holds, or the journal records that it was undone. */
function checkReported(reported: readonly string[], { result, events }: FinalRun): readonly CrashFinding[] {
  const succeeded = Object.entries(result.steps).filter(([, { state }]) => statesAfterSuccess.includes(state));
  const recorded = new Set([...events, ...succeeded.map(([step]) => `succeeded ${step}`)]);
  const missing = new Set(reported.filter((what) => !recorded.has(what)));
  return [...missing].map((what) => newFinding("lost", `"${what}" was reported, but is not recorded`));
}

/** The states that a succeeded step may have later. */
const statesAfterSuccess: readonly string[] = ["succeeded", "compensating", "compensated", "compensation_failed"];

function checkFinished({ result }: FinalRun, scenario: Scenario): readonly CrashFinding[] {
  const states = Object.entries(result.steps).map(([step, { state }]) => ({ step, state }));
  const doubted = states.some(({ state }) => state === "in_doubt");
  const unfinished = states.filter(
    ({ state }) => unfinishedStates.includes(state) || (state === "pending" && !doubted),
  );
  return [
    ...unfinished.map(({ step, state }) => newFinding("stuck", `${step} is still ${state}`)),
    ...findingUnless(scenario.endStatuses.includes(result.status), "untrue", `the run is ${result.status}`),
    ...findingUnless(result.final || doubted, "stuck", "the run has not ended"),
    ...findingUnless(!doubted || !scenario.settlesAllDoubts, "stuck", "an act is in doubt that could be settled"),
  ];
}

const unfinishedStates: readonly string[] = [
  "ready",
  "running",
  "failed_retryable",
  "compensating",
  "waiting_approval",
];

/** Compares two final runs without parked events: a step behind an equal act in doubt checks it again and again. */
function isSameRun(recovered: FinalRun, restarted: FinalRun): boolean {
  const comparable = ({ result: { blocked_on: _, ...result }, ledger, notices, events }: FinalRun) =>
    JSON.stringify([result, ledger, notices, events.filter((event) => !event.startsWith("step.parked"))]);
  return comparable(recovered) === comparable(restarted);
}

function findingUnless(isCorrect: boolean, kind: CrashFinding["kind"], what: string): readonly CrashFinding[] {
  return isCorrect ? [] : [newFinding(kind, what)];
}

function newFinding(kind: CrashFinding["kind"], what: string): CrashFinding {
  return { kind, what };
}
