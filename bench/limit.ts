import { hash } from "node:crypto";
import type { Instant } from "../src/core/id.ts";
import type { Entry, SealedEvent } from "../src/core/store.ts";
import { systemIds } from "../src/engine/system.ts";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import type { Database } from "../src/store/sqlite/driver.ts";
import { openEngine, principal, type Workload, work } from "./workload.ts";

/**
 * The least an honest engine must write, on the same tables and under the same pragmas: per step an event and the run's
 * head; for an act, before that, its ledger row in a transaction of its own. Nothing is decided, parsed or hashed, nothing
 * waits for a turn of the event loop, and the steps of all runs under way share a transaction.
 */
export async function limitOf(workload: Workload): Promise<(db: Database) => () => void> {
  const steps = await rowsOf(workload);
  return (db) => {
    db.exec("pragma synchronous = full");
    const write = writer(db);
    const turns = turnsOf(workload, steps);
    return () => turns.forEach(write);
  };
}

/** What the engine writes for one step, byte for byte, as far as nobody can do without it. */
interface StepRows {
  readonly event: SealedEvent;
  /** For an act: the ledger row before the tool is called, and after. */
  readonly ledger: { readonly before: string; readonly after: string } | null;
}

/** One step of every run that is under way, made up before the clock starts. */
type Turn = readonly { readonly run: string; readonly key: string; readonly step: StepRows; readonly first: boolean }[];

function turnsOf({ runs, atOnce }: Workload, steps: readonly StepRows[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (let begun = 0; begun < runs; begun += atOnce) {
    const ids = Array.from({ length: Math.min(atOnce, runs - begun) }, () => systemIds("run", Date.now() as Instant));
    for (const [at, step] of steps.entries()) {
      turns.push(ids.map((run) => ({ run, step, first: at === 0, key: hash("sha256", `${run} ${at}`) })));
    }
  }
  return turns;
}

function writer(db: Database): (turn: Turn) => void {
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  const insertEvent = db.prepare(
    "insert into event (tenant, run, position, type, v, at, body, hash) values (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const insertHead = db.prepare("insert into head (position, hash, tenant, run) values (?, ?, ?, ?)");
  const updateHead = db.prepare("update head set position = ?, hash = ? where tenant = ? and run = ?");
  const insertLedger = db.prepare("insert into ledger (version, row, tenant, key) values (?, ?, ?, ?)");
  const updateLedger = db.prepare("update ledger set version = ?, row = ? where tenant = ? and key = ?");
  const { tenant } = principal;
  return (turn) => {
    if (turn[0]?.step.ledger) {
      begin.run();
      for (const { key, step } of turn) insertLedger.run(1, step.ledger?.before ?? "", tenant, key);
      commit.run();
    }
    begin.run();
    for (const { run, key, step, first } of turn) {
      const { position, type, v, at, body, hash } = step.event;
      insertEvent.run(tenant, run, position, type, v, at, body, hash);
      (first ? insertHead : updateHead).run(position, hash, tenant, run);
      if (step.ledger !== null) updateLedger.run(2, step.ledger.after, tenant, key);
    }
    commit.run();
  };
}

/** Lets the engine walk one run and keeps what it appends. */
async function rowsOf({ effect, steps }: Workload): Promise<readonly StepRows[]> {
  const store = memoryStore();
  const entries: Entry[] = [];
  const append: typeof store.append = (sent) => {
    entries.push(...sent);
    return store.append(sent);
  };
  const engine = await openEngine({ ...store, append });
  await work(engine, { effect, steps, runs: 1, atOnce: 1 });
  await engine.close();
  const events = entries.flatMap((entry) => entry.events).filter(({ type }) => type === "step.succeeded");
  const ledger = entries.flatMap((entry) => entry.puts).flatMap(({ table, row }) => (table === "ledger" ? [row] : []));
  return events.map((event, at) => {
    const [before, after] = ledger.slice(2 * at);
    return { event, ledger: before && after ? { before, after } : null };
  });
}
