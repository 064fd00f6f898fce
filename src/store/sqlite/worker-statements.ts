import type { Digest, WorkerId } from "../../core/values/ids.ts";
import type { Prepare } from "./sqlite-driver.ts";

/** A registered worker. */
export interface WorkerRow {
  readonly id: WorkerId;
  readonly boot: string;
  readonly pid: number;
  readonly version: string;
  readonly rules: Digest | null;
  /** A JSON list. */
  readonly offers: string | null;
  readonly beat: number;
}

/** `changeEpochs` prepares statements that change the epochs of many runs. */
export function workerStatements(prepare: Prepare, changeEpochs: Prepare) {
  return {
    workers: prepare<Pick<WorkerRow, "id" | "boot" | "pid" | "beat"> & { readonly idle: 0 | 1 }>(
      `select id, boot, pid, beat, rules is null and not exists (
         select 1 from lease indexed by lease_worker where lease.worker = worker.id and lease.worker is not null) as idle
       from worker`,
    ),
    // Skips in the index to the next worker that holds a lease.
    nextHolder: prepare<{ readonly found: WorkerId }>(
      "select worker as found from lease indexed by lease_worker where worker is not null and worker > ? order by worker limit 1",
    ),
    insertWorker: prepare(
      "insert into worker (id, boot, pid, version, rules, offers, beat) values (?, ?, ?, ?, ?, ?, ?)",
    ),
    setTerms: prepare(
      "update worker set rules = ?1, offers = ?2 where id = ?3 and (rules is not ?1 or offers is not ?2)",
    ),
    liveWorkers: prepare<Pick<WorkerRow, "id" | "pid" | "version" | "rules" | "offers">>(
      "select id, pid, version, rules, offers from worker order by id",
    ),
    removeWorker: prepare("delete from worker where id = ?"),
    // A worker that was suspended gets its rules back.
    beat: prepare("update worker set beat = beat + 1, rules = ?, offers = ? where id = ?"),
    suspendWorker: prepare("update worker set rules = null, offers = null where id = ?"),
    beatOf: prepare<Pick<WorkerRow, "beat">>("select beat from worker where id = ?"),
    // The epoch moves now, so that nothing of the evicted worker lands after this, even before another claim.
    evictLeases: changeEpochs(
      `update lease indexed by lease_worker set epoch = epoch + 1, prior = worker, worker = null, since = 0, wanted = null
       where worker = ? and worker is not null`,
    ),
    endAsks: prepare("update lease indexed by lease_wanted set wanted = null where wanted = ? and wanted is not null"),
  };
}

type WorkerStatements = ReturnType<typeof workerStatements>;

/** Ends the leases of a worker and removes it, inside a transaction. */
export function evictWorker({ evictLeases, endAsks, removeWorker }: WorkerStatements, worker: WorkerId): void {
  evictLeases.run(worker);
  endAsks.run(worker);
  removeWorker.run(worker);
}

/** Ends the leases of a worker that may live, inside a transaction. */
export function suspendWorker(statements: WorkerStatements, worker: WorkerId): void {
  statements.evictLeases.run(worker);
  statements.endAsks.run(worker);
  statements.suspendWorker.run(worker);
}
