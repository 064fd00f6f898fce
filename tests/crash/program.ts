import type { RunResult } from "../../src/core/result.ts";
import type { LedgerRow } from "../../src/core/rows.ts";
import type { Store } from "../../src/core/store.ts";
import type { AuditReport, Engine, RunHandle } from "../../src/engine/api.ts";
import type { Killer } from "./killer.ts";
import { agent, ana, type Scenario, type World, type Writ } from "./scenario.ts";

/** A run at rest, as the engine tells it. */
export interface Driven {
  readonly result: RunResult;
  readonly ledger: readonly Pick<LedgerRow, "step_id" | "state" | "usable">[];
  readonly audit: AuditReport;
  /** Messages that were committed to be delivered, by id. */
  readonly notices: readonly string[];
  readonly events: readonly string[];
}

/** The user's program: the same every time it is started, whatever became of the last time. */
export async function drive(world: World, scenario: Scenario, store: Store, killer: Killer): Promise<Driven> {
  const { writ, witness } = world;
  const engine = await writ.createEngine({
    store,
    tools: scenario.tools(world),
    tenants: { demo: { mode: scenario.mode ?? "auto_exec" } },
    ...(scenario.gateMs !== undefined && { limits: { gateMs: scenario.gateMs } }),
    dice: () => 0,
    failpoint: killer.at,
    onNotice: async ({ notice_id }) => witness.note({ did: "notice", to: notice_id }),
  });
  const insist = <Result>(work: () => Promise<Result>) => insisting(writ, work);
  const as = { principal: agent, requestKey: "the one request" };
  const run = await insist(() => engine.submit({ steps: scenario.steps }, as));
  const result = await insist(() => toRest(engine, run, scenario, world));
  const driven = {
    result,
    ledger: await ledgerOf(store),
    audit: await engine.audit({ principal: ana }),
    ...(await journalOf(run)),
  };
  await engine.close();
  return driven;
}

/** Asks again when the store was not itself, as a server would that cannot simply end. */
async function insisting<Result>({ FaultError }: Writ, work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof FaultError) || error.fault.code !== "STORE_FAILED") throw error;
      await aMoment();
    }
  }
}

/** Who asks again and again without a pause keeps the process from doing what is asked for. */
function aMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

/** Decides what is asked, and waits until the run can be moved by nobody here. */
async function toRest(engine: Engine, run: RunHandle, scenario: Scenario, { witness }: World): Promise<RunResult> {
  for (;;) {
    const seen = (await journalOf(run)).events.length;
    const result = await run.result();
    const decided = await decideAll(engine, result, scenario);
    if (decided || (await scenario.person?.({ engine, result, witness }))) continue;
    if (isOver(result)) {
      if ((await undelivered(run)) === 0) return result;
      await aMoment();
      continue;
    }
    for await (const _event of run.events({ after: seen, follow: true })) break;
  }
}

async function decideAll(engine: Engine, { gates }: RunResult, { decide }: Scenario): Promise<boolean> {
  let done = false;
  for (const gate of gates) {
    const said = decide?.(gate) ?? "approve";
    if (said === "leave") continue;
    await engine[said](gate.gate_id, { principal: ana });
    done = true;
  }
  return done;
}

/** Ended, or in a doubt that only a person can settle, with nothing else under way. */
function isOver({ final, blocked_on }: RunResult): boolean {
  const asking = blocked_on.filter(({ reason_code, until }) => reason_code === "IN_DOUBT" && until === undefined);
  const behind = blocked_on.filter(({ reason_code }) => reason_code === "WAITING_FOR_KEY");
  return final || (asking.length > 0 && asking.length + behind.length === blocked_on.length);
}

async function undelivered(run: RunHandle): Promise<number> {
  const { events, notices } = await journalOf(run);
  return notices.length - events.filter((type) => type === "notice.delivered").length;
}

async function journalOf(run: RunHandle): Promise<Pick<Driven, "events" | "notices">> {
  const events: string[] = [];
  const notices: string[] = [];
  for await (const { event } of run.events()) {
    events.push(event.type);
    if (event.type === "step.succeeded") notices.push(...(event.notices ?? []).map(({ notice_id }) => notice_id));
  }
  return { events, notices };
}

async function ledgerOf(store: Store): Promise<Driven["ledger"]> {
  const rows = await store.list("demo" as never, { table: "ledger", order: "oldest", limit: 100 });
  return rows.map(({ row }) => {
    const { step_id, state, usable } = JSON.parse(row) as LedgerRow;
    return { step_id, state, usable };
  });
}
