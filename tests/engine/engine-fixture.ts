import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Timers } from "../../src/core/ports/clock.ts";
import type { RunResult } from "../../src/core/run/run-result.ts";
import type { Store } from "../../src/core/store/store.ts";
import type { WorkerId } from "../../src/core/values/ids.ts";
import type { Engine, EngineOptions, PrincipalInput, RunHandle } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { type MemoryStore, memoryStore } from "../../src/store/memory/memory-store.ts";
import { connectSqlite, type SqliteValue } from "../../src/store/sqlite/sqlite-driver.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { sqliteStatements } from "../../src/store/sqlite/statements.ts";
import { evictWorker } from "../../src/store/sqlite/worker-statements.ts";
import { type FakeClock, fakeClock } from "../../src/testing/fake-clock.ts";
import { manualTimers } from "../../src/testing/manual-timers.ts";
import { postgresBackingStore } from "./postgres-backing-store.ts";

/** One store that outlives its engines, and a clock that the test advances. */
export interface EngineFixture {
  readonly clock: FakeClock;
  /** Opens an engine. Tenant acme has the mode auto_exec unless the options say otherwise. */
  open(options: Partial<EngineOptions> & Pick<EngineOptions, "tools">): Promise<Engine>;
  /** Returns the number of timers that are set. */
  armedTimers(): number;
  /** Advances the clock and fires the timers that are due. */
  advance(ms: number): Promise<void>;
  /** Calls `work` after this time. */
  schedule(ms: number, work: () => void): void;
  /** Advances the clock until the run is at rest. */
  runUntilIdle(run: RunHandle): Promise<RunResult>;
  /** Ends the leases of all workers: lets their time pass and, where they do not end by time, evicts the workers. */
  loseLeases(): void;
  /** Kills the process of every open engine: its calls are not answered, and its leases expire or are taken over. */
  crash(): Promise<void>;
  /** Returns the content of all tables. */
  dump(): Promise<unknown>;
  /** Opens another connection to the store. */
  store(): Store;
  /** Runs a statement beside the engine, with all rights. Only stores with SQL have it. */
  sql(text: string): Promise<readonly SqlRow[]>;
}

export type SqlRow = Readonly<Record<string, unknown>>;

export interface StoreKind {
  readonly name: string;
  newFixture(): EngineFixture;
}

export const botAgent: PrincipalInput = { id: "bot", kind: "agent", tenant: "acme" };
export const anaPerson: PrincipalInput = { id: "ana", kind: "person", tenant: "acme" };

/** Tests run on every kind of store. Postgres, which needs a server, has its own test project. */
export const storeKinds: readonly StoreKind[] =
  process.env.WRIT_PLACE === "postgres"
    ? [await postgresKind()]
    : [
        { name: "memory", newFixture: () => fixtureOn(memoryBackingStore) },
        { name: "SQLite", newFixture: () => fixtureOn(sqliteBackingStore) },
      ];

/** The kinds whose tables a test can change by SQL. */
export const sqlStoreKinds: readonly StoreKind[] = storeKinds.filter(({ name }) => name !== "memory");

async function postgresKind(): Promise<StoreKind> {
  const openBackingStore = await postgresBackingStore();
  return { name: "Postgres", newFixture: () => fixtureOn(openBackingStore) };
}

/** A SQLite fixture whose file a test can change directly. */
export function sqliteFileFixture(): EngineFixture & { readonly file: string } {
  let file = "";
  const stage = fixtureOn((clock) => {
    const backingStore = sqliteBackingStore(clock);
    file = backingStore.file;
    return backingStore;
  });
  return { ...stage, file };
}

export interface BackingStore {
  /** Opens a connection, as each process does. */
  connect(): Store;
  dump(): unknown;
  sql(text: string): Promise<readonly SqlRow[]>;
  /** Present if no lease ends by time: evicts all workers. */
  evictWorkers?(): void;
  /** Waits for the pending calls, if answers take longer than a turn of the event loop. */
  whenAnswered?(): Promise<boolean>;
}

function fixtureOn(openBackingStore: (clock: FakeClock) => BackingStore): EngineFixture {
  const clock = fakeClock();
  const backingStore = openBackingStore(clock);
  const timers = manualTimers(clock, backingStore.whenAnswered);
  const alive: EngineProcess[] = [];
  const begin = (): EngineProcess => {
    const process = engineProcess(backingStore.connect(), timers);
    alive.push(process);
    return process;
  };
  const crash = async () => {
    await Promise.all(alive.splice(0).map((process) => process.die()));
  };
  onTestFinished(crash);
  return {
    clock,
    open: (options) => {
      const { store, timers } = begin();
      return createEngine({ store, timers, dice: () => 0.5, tenants: { acme: { mode: "auto_exec" } }, ...options });
    },
    armedTimers: () => timers.armed,
    advance: (ms) => timers.pass(ms),
    schedule: (ms, work) => void timers.after(ms, work),
    runUntilIdle: async (run) => {
      let result: RunResult | null = null;
      void run.result().then((rested) => {
        result = rested;
      });
      for (let passed = 0; result === null && passed < LONGEST_RUN_MS; passed += 500) await timers.pass(500);
      return result ?? run.now();
    },
    crash: async () => {
      await crash();
      clock.advance(LEASE_MS); // The memory store detects a dead worker only by its expired lease.
    },
    loseLeases: () => {
      clock.advance(2 * LEASE_MS);
      backingStore.evictWorkers?.();
    },
    dump: async () => {
      await timers.pass(0); // A lease is released in the background.
      return backingStore.dump();
    },
    store: () => begin().store,
    sql: (text) => backingStore.sql(text),
  };
}

const LEASE_MS = 15_000;

/** No test has a run that rests longer than this before it ends. */
const LONGEST_RUN_MS = 30 * 60_000;

function memoryBackingStore(clock: FakeClock): BackingStore {
  const store: MemoryStore = memoryStore({ clock });
  const sql = async () => assert.fail("the memory store has no SQL");
  return { connect: () => store, dump: () => store.dump(), sql };
}

function sqliteBackingStore(clock: FakeClock): BackingStore & { readonly file: string } {
  const folder = mkdtempSync(join(tmpdir(), "writ-scenario-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "writ.db");
  return {
    file,
    connect: () => openSqlite(file, { clock, timers: silentTimers, stopwatch: () => clock.now() }),
    dump: () => dumpSqliteFile(file),
    evictWorkers: () => evictWorkers(file),
    sql: async (text) => runSqliteFile(file, text),
  };
}

function evictWorkers(file: string): void {
  const db = connectSqlite(file);
  const workers = db.prepare("select id from worker").all() as readonly { readonly id: WorkerId }[];
  const statements = sqliteStatements(db);
  for (const { id } of workers) evictWorker(statements, id);
  db.close();
}

function runSqliteFile(file: string, text: string): readonly SqlRow[] {
  const db = connectSqlite(file);
  try {
    if (/^(select|pragma) /.test(text)) return db.prepare(text).all() as readonly SqlRow[];
    db.exec(text);
    return [];
  } finally {
    db.close();
  }
}

/** The store polls for other writers by timer; there are none. */
const silentTimers: Timers = { after: () => () => {} };

/** The ports of one process. After its death, calls are never answered and timers never fire. */
interface EngineProcess {
  readonly store: Store;
  readonly timers: Timers;
  die(): Promise<void>;
}

function engineProcess(real: Store, timers: Timers): EngineProcess {
  let dead = false;
  const held = Object.entries(real).map(([name, member]: [string, unknown]) => {
    if (typeof member !== "function" || name === "watch" || name === "changes") return [name, member] as const;
    return [name, (...given: readonly unknown[]) => (dead ? neverSettles() : heard(member(...given)))] as const;
  });
  // A call made before the death is not answered after it.
  const heard = async (answer: Promise<unknown>): Promise<unknown> => {
    await Promise.allSettled([answer]);
    return dead ? neverSettles() : answer;
  };
  return {
    store: Object.fromEntries(held) as unknown as Store,
    timers: { after: (ms, work) => timers.after(ms, () => dead || work()) },
    die: async () => {
      dead = true;
      await real.close();
    },
  };
}

function neverSettles(): Promise<never> {
  return new Promise(() => {});
}

/** Returns the rows of all tables except the beats of workers, which go on while nothing happens. */
function dumpSqliteFile(file: string): unknown {
  const db = connectSqlite(file);
  try {
    const names = db
      .prepare("select name from sqlite_master where type = 'table' and name <> 'worker' order by 1")
      .all() as {
      name: string;
    }[];
    return names.map(({ name }) => [
      name,
      db
        .prepare(`select * from ${name}`)
        .all()
        .map((row) => rowCells(row as Row)),
    ]);
  } finally {
    db.close();
  }
}

type Row = Readonly<Record<string, SqliteValue>>;

function rowCells(row: Row): readonly SqliteValue[] {
  return Object.values(row).map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value));
}
