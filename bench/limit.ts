import { hash } from "node:crypto";
import type { Instant } from "../src/core/id.ts";
import type { Entry, SealedEvent } from "../src/core/store.ts";
import { systemIds } from "../src/engine/system.ts";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import type { Database } from "../src/store/sqlite/driver.ts";
import { openEngineFor, principal, type Workload, work } from "./workload.ts";

/**
 * The least an honest engine must write, on the same tables and under the same pragmas: per step an event and the run's
 * head; for an act, before that, its ledger row in a transaction of its own; for a write, the row of its project. Nothing is decided, parsed or hashed, nothing
 * waits for a turn of the event loop, and the steps that are under way together share a transaction.
 */
export async function limitOf(workload: Workload): Promise<(db: Database) => () => void> {
  const steps = await rowsOf(workload);
  return (db) => {
    const land = writer(db);
    const turns = turnsOf(workload, steps);
    return () => turns.forEach(land);
  };
}

/** What the engine writes for one step, byte for byte, as far as nobody can do without it. */
interface StepRows {
  readonly event: SealedEvent;
  /** For an act: the ledger row before the tool is called, and after. */
  readonly ledger: { readonly before: string; readonly after: string } | null;
  /** For a write: where its project's state is told from now on. */
  readonly project: string | null;
}

/** What is under way together, made up before the clock starts. */
export interface Turn {
  readonly writes: readonly Write[];
  readonly acts: boolean;
  readonly hard: boolean;
}

export interface Write extends StepRows {
  readonly run: string;
  /** Of its run. */
  readonly first: boolean;
  readonly key: string;
}

export function turnsOf({ runs, atOnce, order, durability }: Workload, steps: readonly StepRows[]): readonly Turn[] {
  const groups = order === "parallel" ? [steps] : steps.map((step) => [step]);
  const turns: Turn[] = [];
  for (let begun = 0; begun < runs; begun += atOnce) {
    const ids = Array.from({ length: Math.min(atOnce, runs - begun) }, () => systemIds("run", Date.now() as Instant));
    for (const [at, group] of groups.entries()) {
      const acts = group.some(({ ledger }) => ledger !== null);
      turns.push({
        writes: ids.flatMap((run) => group.map((step) => write(run, step, step === steps[0]))),
        acts,
        // Who is told what an act did, or that a run came to rest, is told something that survives a power cut.
        hard: durability === "every" || acts || at === groups.length - 1,
      });
    }
  }
  return turns;
}

function write(run: string, step: StepRows, first: boolean): Write {
  return { ...step, run, first, key: hash("sha256", `${run} ${step.event.position}`) };
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
  const putProject = db.prepare(
    `insert into project (tenant, key, version, row) values (?1, 'shop', 1, ?2)
     on conflict (tenant, key) do update set version = version + 1, row = excluded.row`,
  );
  const { tenant } = principal;
  let synced: boolean | null = null;
  return ({ writes, acts, hard }) => {
    if (hard !== synced) db.exec(`pragma synchronous = ${hard ? "full" : "normal"}`);
    synced = hard;
    if (acts) {
      begin.run();
      for (const { ledger, key } of writes) if (ledger !== null) insertLedger.run(1, ledger.before, tenant, key);
      commit.run();
    }
    begin.run();
    for (const { run, first, event, ledger, project, key } of writes) {
      const { position, type, v, at, body, hash } = event;
      insertEvent.run(tenant, run, position, type, v, at, body, hash);
      (first ? insertHead : updateHead).run(position, hash, tenant, run);
      if (ledger !== null) updateLedger.run(2, ledger.after, tenant, key);
      if (project !== null) putProject.run(tenant, project);
    }
    commit.run();
  };
}

/** Lets the engine walk one run and keeps what it appends. */
export async function rowsOf(workload: Workload): Promise<readonly StepRows[]> {
  const store = memoryStore();
  const entries: Entry[] = [];
  const append: typeof store.append = (sent) => {
    entries.push(...sent);
    return store.append(sent);
  };
  const engine = await openEngineFor({ ...workload, durability: "every" }, { ...store, append });
  await work(engine, { ...workload, runs: 1, atOnce: 1 });
  await engine.close();
  return entries.flatMap(stepsIn);
}

/** An act travels alone: the entry before the one that ends it is the one that started it. */
function stepsIn(entry: Entry, at: number, entries: readonly Entry[]): readonly StepRows[] {
  const [before, after] = [entries[at - 1], entry].map((one) => one?.puts.find(({ table }) => table === "ledger")?.row);
  const ended = entry.events.filter(({ type }) => type === "step.succeeded");
  const project = entry.puts.find(({ table }) => table === "project")?.row ?? null;
  return ended.map((event) => ({ event, ledger: before && after ? { before, after } : null, project }));
}
