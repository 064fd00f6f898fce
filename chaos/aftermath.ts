import { readFileSync } from "node:fs";
import { FaultError } from "../src/core/fault.ts";
import type { Engine, RunNow } from "../src/engine/api.ts";
import { accountOf } from "./account.ts";
import { check, type Journals } from "./checker.ts";
import { needlessIn } from "./doubts.ts";
import { type Errand, listen } from "./driver.ts";
import { grouped, push } from "./grouped.ts";
import { type History, historyOf, type Line, linesIn } from "./history.ts";
import { type Finding, judge } from "./judge.ts";
import { tenants } from "./plans.ts";
import { hex } from "./recorder.ts";
import type { Server } from "./server.ts";
import { type Sums, sumsOf } from "./sums.ts";
import { deedsIn } from "./witness.ts";

/** What is left when all is over. */
export interface Remains {
  readonly errands: readonly Errand[];
  readonly server: Server;
  /** Only looks. */
  readonly engine: Engine;
  readonly world: string;
  readonly history: string;
}

/** What there is to say about it. */
export interface Verdict {
  readonly runs: number;
  readonly sums: Sums;
  /** Acts that were in doubt, for good or for a while. */
  readonly in_doubt: number;
  /** Runs that were parked because they seemed to kill their workers, and let go on by a person. */
  readonly parked: number;
  /** Of the doubts, those that could have been known. */
  readonly needless: number;
  readonly findings: readonly Finding[];
  /** Why the history of the ledger cannot have been. */
  readonly violations: readonly string[];
}

/** What can be counted while it is not over. */
export async function soFar({ server, history }: Pick<Remains, "server" | "history">) {
  const told = historyOf(linesIn<Line>(readFileSync(history, "utf8")));
  const events = await eventsIn(server);
  const journals = journalsOf(events);
  const doubts = events.filter(({ type }) => type === "step.doubted");
  const parked = events.filter(({ type }) => type === "run.poisoned").length;
  return { told, journals, doubts, parked, sums: sumsOf(told, journals) };
}

export async function verdictOn(remains: Remains): Promise<Verdict> {
  const { errands, server } = remains;
  const { told: history, journals, doubts, parked, sums } = await soFar(remains);
  return {
    runs: errands.length,
    sums,
    in_doubt: doubts.length,
    parked,
    needless: needlessIn(doubts, history),
    findings: [
      ...(await onErrands(remains, history)),
      ...(await onRecord(remains.engine)),
      ...(await onLeftovers(server, history)),
    ],
    violations: check(history, journals),
  };
}

async function onErrands({ errands, engine, server, world }: Remains, history: History): Promise<readonly Finding[]> {
  const deeds = grouped(deedsIn(world), ({ to }) => nameIn(to));
  const findings: Finding[] = [];
  for (const errand of errands) {
    const { job, run_id, failed } = errand;
    if (failed !== null) findings.push({ kind: "stuck", what: `${job.name} ${run_id}: ${failed}` });
    if (run_id === null) continue;
    const now = await found(engine, run_id, job.tenant);
    if (now === null) {
      findings.push({ kind: "lost", what: `${job.name} ${run_id} was accepted and is not there` });
      continue;
    }
    listen(errand, now);
    findings.push(...errand.changed.map((what): Finding => ({ kind: "lost", what })));
    findings.push(...judge(job, now, deeds.get(job.name) ?? []));
    if (now.final) continue;
    const account = await accountOf(server, history, run_id);
    findings.push({ kind: "stuck", what: `${job.name} ${run_id}: ${JSON.stringify(now)} ${account}` });
  }
  return findings;
}

async function found(engine: Engine, run: string, tenant: string): Promise<RunNow | null> {
  try {
    return await (await engine.run(run, { principal: { id: "ana", kind: "person", tenant } })).now();
  } catch (error) {
    if (error instanceof FaultError && error.fault.code === "RUN_NOT_FOUND") return null;
    throw error;
  }
}

/** "job 17 act" is of "job 17". */
function nameIn(to: string): string {
  return to.split(" ").slice(0, 2).join(" ");
}

/** Every hash and every row is what the events add up to. */
async function onRecord(engine: Engine): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const tenant of tenants) {
    const { broken, tallies } = await engine.audit({ principal: { id: "ana", kind: "person", tenant } });
    for (const { run_id, what } of broken) findings.push({ kind: "lost", what: `${run_id}: ${what}` });
    for (const { tally } of tallies) findings.push({ kind: "lost", what: `the tally ${tally} does not add up` });
  }
  return findings;
}

/** Whoever goes gives back what they hold, and every message was delivered. */
async function onLeftovers(server: Server, history: History): Promise<readonly Finding[]> {
  const leases = await server.rows<readonly [string]>("select run from writ.lease where until > writ.now_ms()");
  const notices = await server.rows<readonly [string, string]>(
    "select key, row::json ->> 'run_id' from writ.rows where kind = 'notice'",
  );
  const left = [
    ...leases.map(([run]) => [run, `${run} is held by someone who is gone`] as const),
    ...notices.map(([notice, run]) => [run, `${notice} was not delivered`] as const),
  ];
  const findings: Finding[] = [];
  for (const [run, what] of left)
    findings.push({ kind: "stuck", what: `${what}: ${await accountOf(server, history, run)}` });
  return findings;
}

interface Stored {
  readonly run: string;
  readonly type: string;
  readonly hash: string;
  readonly body: string;
}

async function eventsIn(server: Server): Promise<readonly Stored[]> {
  const text = "select run, type, hash, body from writ.event order by tenant, run, position";
  const rows = await server.rows<readonly [string, string, Uint8Array, string]>(text);
  return rows.map(([run, type, hash, body]) => ({ run, type, hash: hex(hash), body }));
}

function journalsOf(events: readonly Stored[]): Journals {
  const journals = new Map<string, string[]>();
  for (const { run, hash } of events) push(journals, run, hash);
  return journals;
}
