import { hash } from "node:crypto";
import type { Entry, SealedEvent } from "../src/core/store/store.ts";
import type { Instant } from "../src/core/values/ids.ts";
import { systemIds } from "../src/engine/ports/system-ports.ts";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import type { SqliteDatabase } from "../src/store/sqlite/sqlite-driver.ts";
import { type JournalLayout, prepareJournal, type RawJournal } from "./journal-layout.ts";
import { benchPrincipal, openWorkloadEngine, runWorkload, type Workload } from "./workload.ts";

/**
 * Writes the least that a correct engine must write, with the same tables and pragmas, in either layout of events: per step an event and the head
 * of the run; for an act, before that, its ledger row in its own transaction; for a write, the row of its project. It
 * decides, parses and hashes nothing, and concurrent steps share a transaction.
 */
export async function prepareWriteLimit(
  workload: Workload,
): Promise<(db: SqliteDatabase, layout: JournalLayout) => () => void> {
  const steps = await recordStepRows(workload);
  return (db, layout) => {
    const writeGroup = groupWriter(db, prepareJournal(db, layout));
    const writeGroups = groupWrites(workload, steps);
    return () => writeGroups.forEach(writeGroup);
  };
}

/** The rows that any engine must write for one step, with the same bytes. */
interface StepRows {
  readonly event: SealedEvent;
  /** For an act: the ledger row before the tool is called, and after. */
  readonly ledger: { readonly before: string; readonly after: string } | null;
  /** For a write: the row of its project. */
  readonly project: string | null;
}

/** The writes of concurrent steps, prepared before the measurement. */
export interface WriteGroup {
  readonly writes: readonly StepWrite[];
  readonly acts: boolean;
  readonly hard: boolean;
}

export interface StepWrite extends StepRows {
  readonly run: string;
  /** True for the first step of its run. */
  readonly first: boolean;
  readonly key: string;
}

export function groupWrites(
  { runs, atOnce, order, durability }: Workload,
  steps: readonly StepRows[],
): readonly WriteGroup[] {
  const groups = order === "parallel" ? [steps] : steps.map((step) => [step]);
  const writeGroups: WriteGroup[] = [];
  for (let start = 0; start < runs; start += atOnce) {
    const ids = Array.from({ length: Math.min(atOnce, runs - start) }, () => systemIds("run", Date.now() as Instant));
    for (const [at, group] of groups.entries()) {
      const acts = group.some(({ ledger }) => ledger !== null);
      writeGroups.push({
        writes: ids.flatMap((run) => group.map((step) => newStepWrite(run, step, step === steps[0]))),
        acts,
        // The result of an act and the end of a run must survive a power cut.
        hard: durability === "every" || acts || at === groups.length - 1,
      });
    }
  }
  return writeGroups;
}

function newStepWrite(run: string, step: StepRows, first: boolean): StepWrite {
  return { ...step, run, first, key: hash("sha256", `${run} ${step.event.position}`) };
}

function groupWriter(db: SqliteDatabase, journal: RawJournal): (group: WriteGroup) => void {
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  const insertLedger = db.prepare("insert into ledger (version, row, tenant, key) values (?, ?, ?, ?)");
  const updateLedger = db.prepare("update ledger set version = ?, row = ? where tenant = ? and key = ?");
  const putProject = db.prepare(
    `insert into project (tenant, key, version, row) values (?1, 'shop', 1, ?2)
     on conflict (tenant, key) do update set version = version + 1, row = excluded.row`,
  );
  const { tenant } = benchPrincipal;
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
      if (first) journal.insertHead(tenant, run, event);
      else journal.updateHead(tenant, run, event);
      journal.insertEvent(tenant, run, event);
      if (ledger !== null) updateLedger.run(2, ledger.after, tenant, key);
      if (project !== null) putProject.run(tenant, project);
    }
    commit.run();
  };
}

/** Executes one run and records its appends. */
export async function recordStepRows(workload: Workload): Promise<readonly StepRows[]> {
  const store = memoryStore();
  const entries: Entry[] = [];
  const append: typeof store.append = (sent) => {
    entries.push(...sent);
    return store.append(sent);
  };
  const engine = await openWorkloadEngine({ ...workload, durability: "every" }, { ...store, append });
  await runWorkload(engine, { ...workload, runs: 1, atOnce: 1 });
  await engine.close();
  return entries.flatMap(stepRowsOf);
}

/** An act is not batched, so the entry before its end is its start. */
function stepRowsOf(entry: Entry, at: number, entries: readonly Entry[]): readonly StepRows[] {
  const [before, after] = [entries[at - 1], entry].map((one) => one?.puts.find(({ table }) => table === "ledger")?.row);
  const ended = entry.events.filter(({ type }) => type === "step.succeeded");
  const project = entry.puts.find(({ table }) => table === "project")?.row ?? null;
  return ended.map((event) => ({ event, ledger: before && after ? { before, after } : null, project }));
}
