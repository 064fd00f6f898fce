import { readFileSync } from "node:fs";
import { FaultError } from "../src/core/values/fault.ts";
import type { Engine, RunProgress } from "../src/engine/api/engine-api.ts";
import { type ClientJob, recordReported } from "./chaos-client.ts";
import { chaosTenants } from "./chaos-jobs.ts";
import type { ChaosStore, StoredEvent, StoredTables } from "./chaos-store.ts";
import { findWrongEvictions } from "./check-evictions.ts";
import { checkHistory, type StoredJournals } from "./check-history.ts";
import { type ChaosFinding, checkJob } from "./check-job.ts";
import { countHistory, type HistoryCounts } from "./count-history.ts";
import { countNeedlessDoubts } from "./count-needless-doubts.ts";
import { describeRunHistory } from "./describe-run-history.ts";
import { readLoggedEffects } from "./effect-log.ts";
import { groupBy, pushToGroup } from "./group-by.ts";
import { type HistoryLine, parseHistory, parseJsonLines, type StoreHistory } from "./store-history.ts";

/** The data to check after the test. */
export interface ChaosRemains {
  readonly jobs: readonly ClientJob[];
  readonly store: ChaosStore;
  /** An engine that does not work. */
  readonly engine: Engine;
  readonly world: string;
  readonly history: string;
}

/** The result of the checks. */
export interface ChaosVerdict {
  readonly runs: number;
  readonly historyCounts: HistoryCounts;
  /** The number of acts that were in doubt, at least for a while. */
  readonly in_doubt: number;
  /** The number of runs that were parked as poison and resumed by a person. */
  readonly parked: number;
  /** The number of doubts about acts that were provably not called. */
  readonly needless: number;
  readonly findings: readonly ChaosFinding[];
  /** The reasons why no correct store has this history. */
  readonly violations: readonly string[];
}

/** Returns the counts that are available during the test. */
export async function readProgress({ store, history }: Pick<ChaosRemains, "store" | "history">) {
  const parsed = parseHistory(parseJsonLines<HistoryLine>(readFileSync(history, "utf8")));
  const events = await store.events();
  const journals = groupJournals(events);
  const doubts = events.filter(({ type }) => type === "step.doubted");
  const parked = events.filter(({ type }) => type === "run.poisoned").length;
  return { parsed, journals, doubts, parked, historyCounts: countHistory(parsed, journals) };
}

export async function checkResults(data: ChaosRemains): Promise<ChaosVerdict> {
  const { jobs, store } = data;
  const { parsed: history, journals, doubts, parked, historyCounts } = await readProgress(data);
  return {
    runs: jobs.length,
    historyCounts,
    in_doubt: doubts.length,
    parked,
    needless: countNeedlessDoubts(doubts, history),
    findings: [
      ...(await checkClientJobs(data, history)),
      ...(await checkJournals(data.engine)),
      ...(await checkLeftovers(store, history)),
      ...(store.evicts ? findWrongEvictions(history) : []).map((what): ChaosFinding => ({ kind: "evicted", what })),
    ],
    violations: checkHistory(history, journals, store.evicts),
  };
}

async function checkClientJobs(
  { jobs, engine, store, world }: ChaosRemains,
  history: StoreHistory,
): Promise<readonly ChaosFinding[]> {
  const effects = groupBy(readLoggedEffects(world), ({ to }) => jobName(to));
  const findings: ChaosFinding[] = [];
  for (const clientJob of jobs) {
    const { job, run_id, failed } = clientJob;
    if (failed !== null) findings.push({ kind: "stuck", what: `${job.name} ${run_id}: ${failed}` });
    if (run_id === null) continue;
    const now = await findRun(engine, run_id, job.tenant);
    if (now === null) {
      findings.push({ kind: "lost", what: `${job.name} ${run_id} was accepted and is missing` });
      continue;
    }
    recordReported(clientJob, now);
    findings.push(...clientJob.changed.map((what): ChaosFinding => ({ kind: "lost", what })));
    findings.push(...checkJob(job, now, effects.get(job.name) ?? []));
    if (now.final) continue;
    const description = await describeRunHistory(store, history, run_id);
    findings.push({ kind: "stuck", what: `${job.name} ${run_id}: ${JSON.stringify(now)} ${description}` });
  }
  return findings;
}

async function findRun(engine: Engine, run: string, tenant: string): Promise<RunProgress | null> {
  try {
    return await (await engine.run(run, { principal: { id: "ana", kind: "person", tenant } })).now();
  } catch (error) {
    if (error instanceof FaultError && error.fault.code === "RUN_NOT_FOUND") return null;
    throw error;
  }
}

/** Returns "job 17" for the target "job 17 act". */
function jobName(to: string): string {
  return to.split(" ").slice(0, 2).join(" ");
}

/** Checks that every hash and every row equals the fold of the events. */
async function checkJournals(engine: Engine): Promise<readonly ChaosFinding[]> {
  const findings: ChaosFinding[] = [];
  for (const tenant of chaosTenants) {
    const { broken, tallies } = await engine.audit({ principal: { id: "ana", kind: "person", tenant } });
    for (const { run_id, what } of broken) findings.push({ kind: "lost", what: `${run_id}: ${what}` });
    for (const { tally } of tallies)
      findings.push({ kind: "lost", what: `the tally ${tally} differs from its events` });
  }
  return findings;
}

/** Checks that no lease is held and no notice is undelivered. */
async function checkLeftovers(store: StoredTables, history: StoreHistory): Promise<readonly ChaosFinding[]> {
  const leftovers = [
    ...(await store.heldRuns()).map((run) => [run, `${run} is held by a worker that has ended`] as const),
    ...(await store.notices()).map(({ run, notice }) => [run, `${notice} was not delivered`] as const),
  ];
  const findings: ChaosFinding[] = [];
  for (const [run, what] of leftovers)
    findings.push({ kind: "stuck", what: `${what}: ${await describeRunHistory(store, history, run)}` });
  return findings;
}

function groupJournals(events: readonly StoredEvent[]): StoredJournals {
  const journals = new Map<string, string[]>();
  for (const { run, hash } of events) pushToGroup(journals, run, hash);
  return journals;
}
