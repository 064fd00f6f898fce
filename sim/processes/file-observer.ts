import type { Claim } from "../../src/core/store/store.ts";
import type { Digest, RunId } from "../../src/core/values/ids.ts";
import { connectSqlite, type SqliteDatabase, type SqliteStatement } from "../../src/store/sqlite/sqlite-driver.ts";
import type { FileContext } from "./file-context.ts";
import type { FileProcess } from "./file-process.ts";
import { type FileTerms, runTerms } from "./file-terms.ts";
import type { RunEventBody } from "./run-worker.ts";

interface LeaseColumns {
  readonly run: RunId;
  readonly epoch: number;
  readonly worker: string | null;
}

interface WorkerColumns {
  readonly id: string;
  readonly beat: number;
  readonly rules: Digest | null;
  readonly offers: string | null;
}

interface EventColumns {
  readonly run: RunId;
  readonly position: number;
  readonly type: string;
  readonly body: string;
}

interface MarkerColumns {
  readonly name: string;
}

/** Reads the tables after every step with a connection of its own, and checks the laws of many workers on one file. */
export class FileObserver {
  /** True until the faults end. */
  hasFaults = true;
  readonly #sim: () => FileContext;
  readonly #db: SqliteDatabase;
  readonly #version: SqliteStatement<{ readonly data_version: number }>;
  readonly #tables: {
    readonly leases: SqliteStatement<LeaseColumns>;
    readonly workers: SqliteStatement<WorkerColumns>;
    readonly events: SqliteStatement<EventColumns>;
    readonly markers: SqliteStatement<MarkerColumns>;
  };
  readonly #processes = new Map<string, FileProcess>();
  readonly #positions = new Map<RunId, number>();
  readonly #ended = new Set<RunId>();
  readonly #claims = new Map<string, string>();
  readonly #calls = new Map<string, number>();
  /** By run and epoch: the step of the simulation in which the worker lost its lease. */
  readonly #lostAt = new Map<string, number>();
  /** By marker: the step of the simulation in which it was written. */
  readonly #markedAt = new Map<string, number>();
  /** By worker: when its beat last changed, in time that the machine was awake. */
  readonly #movedAt = new Map<string, number>();
  #leases = new Map<RunId, LeaseColumns>();
  #workers = new Map<string, WorkerColumns>();
  #seen = -1;
  #step = 0;

  constructor(sim: () => FileContext, file: string) {
    this.#sim = sim;
    const db = connectSqlite(file);
    this.#db = db;
    db.exec("pragma busy_timeout = 0");
    const prepare = <Row>(sql: string) => db.prepare(sql) as SqliteStatement<Row>;
    this.#version = prepare("pragma data_version");
    this.#tables = {
      leases: prepare("select run, epoch, worker from lease order by run"),
      workers: prepare("select id, beat, rules, offers from worker order by id"),
      events: prepare("select head.run, event.position, type, body from event join head using (journal) order by 1, 2"),
      markers: prepare("select run || ' ' || step || ' ' || attempt as name from marker"),
    };
  }

  get endedRuns(): number {
    return this.#ended.size;
  }

  /** Returns whether an act has happened. */
  hasHappened(run: RunId, step: string): boolean {
    return this.#calls.has(`${run} ${step}`);
  }

  /** Returns whether a live process has this call in flight. */
  isCalling(worker: string, call: string): boolean {
    return this.isAlive(worker) && this.#processes.get(worker)?.calls.has(call) === true;
  }

  isAlive(worker: string): boolean {
    return this.#processes.get(worker)?.alive === true;
  }

  addProcess(process: FileProcess): void {
    this.#processes.set(process.worker, process);
  }

  close(): void {
    this.#db.close();
  }

  /** Checks what this step has written. `actor` is the process that took the step, or 0. */
  observeStep(step: number, actor: number): void {
    this.#step = step;
    const version = this.#version.get()?.data_version ?? -1;
    if (version === this.#seen) return;
    this.#seen = version;
    for (const { name } of this.#tables.markers.all()) if (!this.#markedAt.has(name)) this.#markedAt.set(name, step);
    const leases = new Map(this.#tables.leases.all().map((lease) => [lease.run, lease]));
    const workers = new Map(this.#tables.workers.all().map((worker) => [worker.id, worker]));
    this.#checkWorkers(workers, actor);
    this.#checkLeases(leases, actor);
    this.#checkEvents(leases);
    this.#leases = leases;
    this.#workers = workers;
  }

  #checkWorkers(workers: ReadonlyMap<string, WorkerColumns>, actor: number): void {
    const now = this.#sim().awakeMs();
    for (const [id] of this.#workers) {
      if (workers.has(id)) continue;
      this.#sim().counts.evictions += 1;
      this.#checkLoss(id, actor, `${id} was evicted`);
    }
    for (const [id, { beat }] of workers) if (this.#workers.get(id)?.beat !== beat) this.#movedAt.set(id, now);
  }

  #checkLeases(leases: ReadonlyMap<RunId, LeaseColumns>, actor: number): void {
    for (const [run, before] of this.#leases) {
      const after = leases.get(run);
      if (after === undefined || after.epoch < before.epoch) {
        this.#sim().violate(`F1: the epoch of ${run} went from ${before.epoch} to ${after?.epoch}`);
        continue;
      }
      const isKept = after.epoch === before.epoch && after.worker === before.worker;
      if (before.worker === null || isKept) continue;
      this.#lostAt.set(`${run} ${before.epoch}`, this.#step);
      this.#checkLoss(before.worker, actor, `the lease of ${run} ended, which ${before.worker} held`);
    }
  }

  /** A live worker loses its row and its leases only by itself, or if its beat stood still for long enough. */
  #checkLoss(worker: string, actor: number, what: string): void {
    const { violate, awakeMs, config, counts } = this.#sim();
    const process = this.#processes.get(worker);
    if (process === undefined || !process.alive || process.closing || process.number === actor) return;
    const still = awakeMs() - (this.#movedAt.get(worker) ?? Number.NEGATIVE_INFINITY);
    if (still < config.stallMs)
      violate(`F3: ${what} by process ${actor}, although its process lives and its beat moved ${still} ms ago`);
    else counts.stalls += 1;
  }

  /** F2: an event lands only while its worker has the lease: before this step, or after it. */
  #checkEvents(leases: ReadonlyMap<RunId, LeaseColumns>): void {
    for (const { run, position, type, body } of this.#tables.events.all()) {
      if (position <= (this.#positions.get(run) ?? 0)) continue;
      this.#positions.set(run, position);
      if (type === "ended") this.#ended.add(run);
      const { epoch, worker } = JSON.parse(body) as RunEventBody;
      const isLeased = (lease: LeaseColumns | undefined) => lease?.epoch === epoch && lease.worker === worker;
      if (epoch !== null && !isLeased(this.#leases.get(run)) && !isLeased(leases.get(run)))
        this.#sim().violate(`F2: ${type} of ${worker} landed in ${run} under epoch ${epoch} without its lease`);
    }
  }

  /** F1: one claim per run and epoch. F6: no claim under other rules while a live worker has the rules of the run. */
  observeClaim({ run, epoch }: Claim, process: FileProcess): void {
    const { violate, counts } = this.#sim();
    counts.claims += 1;
    const name = `${run} ${epoch}`;
    const other = this.#claims.get(name);
    if (other !== undefined) violate(`F1: ${process.worker} and ${other} both claimed ${run} under epoch ${epoch}`);
    this.#claims.set(name, process.worker);
  }

  /** Is called inside the step in which the store answers a claim, before anything else is written. */
  checkTerms(runs: readonly Claim[], process: FileProcess): void {
    for (const { run } of runs) {
      const needed = runTerms(this.#sim().config, run);
      this.#checkRules(run, process, needed);
      this.#checkTools(run, process, needed);
    }
  }

  #checkRules(run: RunId, { worker: claimer, terms }: FileProcess, { rules }: FileTerms): void {
    const { violate, counts } = this.#sim();
    if (rules === terms.rules) return;
    counts.adoptions += 1;
    for (const { id, rules: known } of this.#liveWorkers())
      if (known === rules) violate(`F6: ${claimer} claimed ${run} under other rules, although ${id} has its rules`);
  }

  /** F10: no worker claims a run without its tool, while a live worker that may claim it has the tool. */
  #checkTools(run: RunId, { worker: claimer, terms }: FileProcess, { rules, offers: tools }: FileTerms): void {
    const { violate, counts } = this.#sim();
    if (tools.length === 0 || tools.some((tool) => terms.offers.includes(tool))) return;
    counts.absentTools += 1;
    for (const { id, rules: known, offers } of this.#liveWorkers()) {
      const mayClaim = known !== null && (known === rules || rules !== terms.rules);
      const offered = JSON.parse(offers ?? "[]") as readonly string[];
      if (id !== claimer && mayClaim && tools.some((tool) => offered.includes(tool)))
        violate(`F10: ${claimer} claimed ${run} without its tool, although ${id} has the tool`);
    }
  }

  /** Returns the registered workers whose processes live. */
  #liveWorkers(): readonly WorkerColumns[] {
    return [...this.#workers.values()].filter(({ id }) => this.isAlive(id));
  }

  /** F4: no act is called twice. F5: after an eviction, no call without an earlier marker. */
  observeCall({ run, epoch, worker }: Claim, step: string, attempt: number): void {
    const { violate, counts } = this.#sim();
    counts.calls += 1;
    const calls = (this.#calls.get(`${run} ${step}`) ?? 0) + 1;
    this.#calls.set(`${run} ${step}`, calls);
    const lostAt = this.#lostAt.get(`${run} ${epoch}`);
    if (lostAt !== undefined) {
      const markedAt = this.#markedAt.get(`${run} ${step} ${attempt}`) ?? Number.POSITIVE_INFINITY;
      if (markedAt >= lostAt)
        violate(`F5: ${worker} called ${run} ${step}.${attempt} after it lost the run, without an earlier marker`);
    }
    if (calls > 1) violate(`F4: ${run} ${step} was called ${calls} times, the last time by ${worker}`);
  }
}
