import { readdirSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { Stopwatch, Timers } from "../../core/ports/clock.ts";
import type { ClaimTerms, LiveWorker } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { WorkerId } from "../../core/values/ids.ts";
import { writVersion } from "../../core/values/writ-version.ts";
import { createFolder } from "./create-file.ts";
import { LockFile } from "./lock-file.ts";
import { IN_MEMORY } from "./open-database.ts";
import type { SqliteContext } from "./sqlite-context.ts";
import { sqliteWaitTimes } from "./sqlite-wait-times.ts";
import { type Beat, StalledWorkers } from "./stalled-workers.ts";
import type { WorkerFailpoints } from "./worker-failpoints.ts";
import { lockName, workersFolder } from "./worker-locks.ts";
import { evictWorker, suspendWorker, type WorkerRow } from "./worker-statements.ts";

/** How many other workers one worker looks at. With more workers, each still has this many observers. */
const peersPerLook = 8;

/** How many idle workers one look examines. They must not keep it from looking at the others. */
const idlePeersPerLook = 1;

/** How many beats fit into the time after which a worker counts as stalled. */
const beatsPerStall = 12;

export interface WorkerRegistryOptions {
  readonly file: string;
  readonly boot: string;
  readonly timers: Timers;
  readonly stopwatch: Stopwatch;
  /** How long a worker whose lock is held may stand still before it loses its runs, in milliseconds. */
  readonly stallMs: number;
  readonly failpoint: WorkerFailpoints;
  /** Returns the type of the file system of a folder, as `statfs` reports it. */
  readonly fileSystemType: (folder: string) => number;
}

/** Another worker. Its boot and pid are null if it has no row. */
interface Peer {
  readonly id: WorkerId;
  readonly boot: string | null;
  readonly pid: number | null;
  readonly beat: Beat;
  /** True if the worker claims and holds no runs. Its process may still live. */
  readonly idle: boolean;
}

/**
 * The workers of one file. A worker holds a lock file while its process lives. It looks at the other workers, and
 * evicts those that are dead or stalled: their leases end, and nothing that they write later lands.
 */
export class WorkerRegistry {
  readonly #context: Pick<SqliteContext, "statements" | "group" | "read">;
  readonly #options: WorkerRegistryOptions;
  readonly #own = new Map<WorkerId, LockFile>();
  readonly #terms = new Map<WorkerId, TermColumns>();
  readonly #stalls: StalledWorkers;
  #beatAt = Number.NEGATIVE_INFINITY;
  /** The number of beats. A worker that registers again continues with it, so that its beat is new to all observers. */
  #beats = 0;
  #looks = 0;
  #cancel: () => void = () => {};
  #folder: string | null = null;

  constructor(context: Pick<SqliteContext, "statements" | "group" | "read">, options: WorkerRegistryOptions) {
    this.#context = context;
    this.#options = options;
    this.#stalls = new StalledWorkers(options.stallMs, options.stopwatch);
  }

  /** Registers a worker of this process: first its lock, then its row, so that a row always had a locked file. */
  async register(worker: WorkerId, terms: ClaimTerms): Promise<void> {
    const isInMemory = this.#options.file === IN_MEMORY;
    if (this.#own.has(worker) || (isInMemory && this.#terms.has(worker))) return;
    this.#terms.set(worker, termColumns(terms));
    // No other process reaches a database in memory.
    if (isInMemory) {
      await this.#context.group.join("soft", () => this.#insert(worker));
      return;
    }
    const folder = this.#lockFolder();
    assertLocalDisk(this.#options.file, this.#options.fileSystemType(dirname(folder)));
    createFolder(folder);
    await this.#takeOver(worker);
    await this.#assertSameBoot();
    const lock = this.#createLock(worker);
    this.#options.failpoint("register.before");
    try {
      await this.#context.group.join("soft", () => this.#insert(worker));
    } catch (error) {
      lock.remove();
      throw error;
    }
    this.#own.set(worker, lock);
    this.#options.failpoint("register.after");
    try {
      await this.#removeLeftovers(folder);
      await this.#look();
    } catch {
      // The store is unavailable. The worker is registered, and its next look tries again.
    }
    if (this.#own.size === 1) this.#arm();
  }

  async unregisterAll(): Promise<void> {
    for (const worker of [...this.#own.keys()]) await this.unregister(worker);
  }

  /** Ends the leases that a worker of this process still holds, and removes the worker. */
  async unregister(worker: WorkerId): Promise<void> {
    const lock = this.#own.get(worker);
    if (lock === undefined) return;
    this.#own.delete(worker);
    this.#terms.delete(worker);
    if (this.#own.size === 0) this.#cancel();
    try {
      await this.#context.group.join("soft", () => this.#evict(worker));
      this.#options.failpoint("unregister.after");
      lock.remove();
    } catch {
      // The others find the free lock, and evict the worker.
      lock.free();
    }
  }

  /** Returns whether the rules and offers of a worker are not recorded yet. */
  lacksTerms(worker: WorkerId, terms: ClaimTerms): boolean {
    const { rules, offers } = termColumns(terms);
    const known = this.#terms.get(worker);
    return rules !== null && known !== undefined && (known.rules !== rules || known.offers !== offers);
  }

  /** Records, inside a transaction, the rules and offers of a worker, if they are new. */
  setTerms(worker: WorkerId, terms: ClaimTerms): void {
    const { rules, offers } = termColumns(terms);
    this.#context.statements.setTerms.run(rules, offers, worker);
    if (this.#terms.has(worker)) this.#terms.set(worker, { rules, offers });
  }

  /** Returns the registered workers. Those that died without a trace are evicted at the next look. */
  async list(): Promise<readonly LiveWorker[]> {
    const host = hostname();
    const found = await this.#context.read(() => this.#context.statements.liveWorkers.all());
    return found.map(({ id: worker, pid, version, rules, offers }) => {
      return { worker, rules, offers: JSON.parse(offers ?? "[]"), process: { version, host, pid } };
    });
  }

  /** Returns whether the latest beat is so old that a new one has to be written. */
  get isBeatDue(): boolean {
    return this.#options.stopwatch() - this.#beatAt >= this.#options.stallMs / beatsPerStall;
  }

  /** Shows, inside a transaction, that the workers of this process run. A worker that was evicted registers again. */
  beat(): void {
    this.#beatAt = this.#options.stopwatch();
    this.#beats += 1;
    for (const worker of this.#own.keys()) {
      const { rules, offers } = this.#terms.get(worker) ?? termColumns({});
      if (this.#context.statements.beat.run(rules, offers, worker).changes === 0) this.#insert(worker);
    }
  }

  /** A new row counts as a beat. */
  #insert(worker: WorkerId): void {
    this.#beatAt = this.#options.stopwatch();
    const { rules, offers } = this.#terms.get(worker) ?? termColumns({});
    const { statements } = this.#context;
    statements.insertWorker.run(worker, this.#options.boot, process.pid, writVersion, rules, offers, this.#beats);
  }

  #evict(worker: WorkerId): void {
    evictWorker(this.#context.statements, worker);
  }

  /**
   * Ends the leases of a worker whose process may live. The worker stays in the list, without rules: until it is known
   * to be dead, a call that it has begun may still happen.
   */
  #suspend(worker: WorkerId): void {
    suspendWorker(this.#context.statements, worker);
  }

  #pathOf(worker: WorkerId): string {
    return join(this.#lockFolder(), lockName(worker));
  }

  #lockFolder(): string {
    this.#folder ??= workersFolder(this.#options.file);
    return this.#folder;
  }

  /** Evicts a dead worker with the id of a new one, or throws if it lives. Ids are random, so this is a copied id. */
  async #takeOver(worker: WorkerId): Promise<void> {
    const found = LockFile.take(this.#pathOf(worker));
    if (found === "missing") return;
    if (found === "held")
      throw new FaultError(fault("STORE_BUSY", `${this.#options.file} already has a worker ${worker}; use another id`));
    const beat = await this.#context.read(() => this.#context.statements.beatOf.get(worker)?.beat ?? null);
    await this.#evictDead(worker, found, beat);
  }

  /** A worker under another boot runs on another machine, where locks and the log of this file cannot be shared. */
  async #assertSameBoot(): Promise<void> {
    const { boot, file } = this.#options;
    for (const worker of await this.#context.read(() => this.#context.statements.workers.all())) {
      if (worker.boot === boot) continue;
      const found = LockFile.take(this.#pathOf(worker.id));
      if (found instanceof LockFile) found.free();
      if (found !== "held") continue;
      const message = `${file} has a worker on another machine; stop it, or use Postgres for workers on several machines`;
      throw new FaultError(fault("STORE_ELSEWHERE", message, { worker: worker.id }));
    }
  }

  /** Removes the files of workers that died before they had a row, or while they were evicted. */
  async #removeLeftovers(folder: string): Promise<void> {
    const { statements, read } = this.#context;
    const names = readdirSync(folder);
    const known = new Set(await read(() => statements.workers.all().map(({ id }) => lockName(id))));
    for (const name of names.filter((name) => !known.has(name))) {
      const found = LockFile.take(join(folder, name));
      if (found instanceof LockFile) found.remove();
    }
  }

  #arm(): void {
    this.#cancel = this.#options.timers.after(sqliteWaitTimes.lookMs, () => {
      void this.#look()
        // The store is unavailable. The next look tries again.
        .catch(() => {})
        .then(() => {
          if (this.#own.size > 0) this.#arm();
        });
    });
  }

  async #look(): Promise<void> {
    this.#keepFiles();
    if (this.isBeatDue) await this.#beatAlone();
    const peers = await this.#peers();
    this.#stalls.look(peers.map(({ id }) => id));
    for (const peer of peers) await this.#examine(peer);
  }

  /**
   * Rejects if the beat does not land. Then this process does not look at the others either: while nothing can be
   * written, for example because the disk is full, no beat changes, and no worker is stalled.
   */
  async #beatAlone(): Promise<void> {
    try {
      await this.#context.group.join("soft", () => this.beat());
    } catch (error) {
      this.#beatAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  /**
   * Creates the lock file of a worker again if it was deleted or replaced, so that the death of the worker is noticed at
   * once. The old lock is held until the new file is in its place: a process that still gets it finds another file there.
   */
  #keepFiles(): void {
    for (const [worker, lock] of this.#own) {
      if (lock.hasItsName) continue;
      try {
        createFolder(dirname(lock.path));
        this.#own.set(worker, this.#createLock(worker));
        lock.free();
      } catch {
        // For example, the disk is full. The next look tries again; until then others judge the worker by its beat.
      }
    }
  }

  #createLock(worker: WorkerId): LockFile {
    return LockFile.create(this.#pathOf(worker), () => this.#options.failpoint("lock.before"));
  }

  /** Returns the workers that follow those of this process in the order of their ids. */
  async #peers(): Promise<readonly Peer[]> {
    const { statements, read } = this.#context;
    const peers = new Map<WorkerId, Peer>();
    await read(() => {
      // A lease without a registered worker is from a copied or restored file, or its worker is about to beat.
      for (let next = statements.nextHolder.get(""); next !== undefined; next = statements.nextHolder.get(next.found))
        peers.set(next.found, { id: next.found, boot: null, pid: null, beat: null, idle: false });
      for (const worker of statements.workers.all()) peers.set(worker.id, { ...worker, idle: worker.idle === 1 });
    });
    const [first] = this.#own.keys();
    const ids = [...peers.keys()].filter((id) => !this.#own.has(id)).sort();
    const start = ids.findIndex((id) => first !== undefined && id > first);
    const ring = start <= 0 ? ids : [...ids.slice(start), ...ids.slice(0, start)];
    const others = ring.map((id) => peers.get(id) as Peer);
    const idle = others.filter((peer) => peer.idle);
    this.#looks += 1;
    const turn = idle.length === 0 ? 0 : this.#looks % idle.length;
    return [
      ...others.filter((peer) => !peer.idle).slice(0, peersPerLook),
      ...idle.slice(turn, turn + idlePeersPerLook),
    ];
  }

  async #examine({ id, boot, pid, beat, idle }: Peer): Promise<void> {
    const found = LockFile.take(this.#pathOf(id), () => this.#options.failpoint("look.before"));
    if (found instanceof LockFile) return this.#evictDead(id, found, beat);
    // A power cut can bring back the row of a worker, but not its lock file.
    const diedWithItsBoot = found === "missing" && boot !== null && boot !== this.#options.boot;
    if (!diedWithItsBoot && !this.#stalls.isStalled(id, beat)) return;
    // Its lock file was deleted, and it did not live long enough to create it again.
    const isDead = diedWithItsBoot || (found === "missing" && pid !== null && !hasProcess(pid));
    if (isDead || !idle) await this.#evictUnlessMoved(id, beat, isDead);
  }

  /**
   * Evicts a worker whose lock this process got, and holds the lock until the eviction is committed. If the beat has
   * changed, the worker lives: another program has replaced its lock file.
   */
  async #evictDead(worker: WorkerId, lock: LockFile, seen: Beat): Promise<void> {
    this.#options.failpoint("evict.before");
    try {
      if (!(await this.#evictUnlessMoved(worker, seen, true))) return lock.free();
    } catch (error) {
      lock.free();
      throw error;
    }
    this.#options.failpoint("evict.after");
    lock.remove();
  }

  /** Evicts a worker unless its beat has changed. Returns whether it did. */
  #evictUnlessMoved(worker: WorkerId, seen: Beat, isDead: boolean): Promise<boolean> {
    const { statements, group } = this.#context;
    return group.join("soft", () => {
      const isUnmoved = (statements.beatOf.get(worker)?.beat ?? null) === seen;
      if (isUnmoved && isDead) this.#evict(worker);
      else if (isUnmoved) this.#suspend(worker);
      return isUnmoved;
    });
  }
}

/** Returns whether a process with this id exists. A new process may have got the id of a dead one. */
function hasProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** The rules and offers of a worker as they are stored. */
type TermColumns = Pick<WorkerRow, "rules" | "offers">;

/** Workers pass the same terms again and again, and their offers can be long. */
const knownColumns = new WeakMap<ClaimTerms, TermColumns>();

function termColumns(terms: ClaimTerms): TermColumns {
  const { rules = null, offers = [] } = terms;
  const columns = knownColumns.get(terms) ?? { rules, offers: offers.length === 0 ? null : JSON.stringify(offers) };
  knownColumns.set(terms, columns);
  return columns;
}

/** The types of NFS, SMB and 9p, where a lock may not be seen by other machines or may outlive its process. */
const networkFileSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xfe534d42, "SMB"],
  [0xff534d42, "SMB"],
  [0x01021997, "9p"],
]);

export function assertLocalDisk(file: string, type: number): void {
  const found = networkFileSystems.get(type);
  if (found === undefined) return;
  const message = `${file} is on ${found}, where the locks of workers do not hold; put it on a local disk, or use Postgres`;
  throw new FaultError(fault("STORE_UNUSABLE", message, { found }));
}
