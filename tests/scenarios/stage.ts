import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { RunResult } from "../../src/core/result.ts";
import type { Store } from "../../src/core/store.ts";
import type { Timers } from "../../src/core/time/clock.ts";
import type { Engine, EngineOptions, PrincipalInput, RunHandle } from "../../src/engine/api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { type MemoryStore, memoryStore } from "../../src/store/memory/memory-store.ts";
import { connect, type Value } from "../../src/store/sqlite/driver.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { type FakeClock, fakeClock } from "../../src/testing/clock.ts";
import { manualTimers } from "../../src/testing/timers.ts";
import { postgresVault } from "./postgres-vault.ts";

/** Where a story happens: one store that outlives its engines, and a time that passes when the story says so. */
export interface Stage {
  readonly clock: FakeClock;
  /** Opens an engine. Tenant acme runs by itself unless the story says otherwise. */
  open(options: Partial<EngineOptions> & Pick<EngineOptions, "tools">): Promise<Engine>;
  /** Lets time pass, ringing what was set on the way. */
  pass(ms: number): Promise<void>;
  /** Something that happens in the world when so much time has passed. */
  later(ms: number, work: () => void): void;
  /** Lets time pass until the run can go no further by itself. */
  rest(run: RunHandle): Promise<RunResult>;
  /** The process of every open engine dies: from now on it writes nothing and hears nothing. Leases run out or are taken. */
  crash(): Promise<void>;
  /** Every byte of every table. */
  dump(): Promise<unknown>;
  /** The same store as another reader sees it. */
  store(): Store;
}

export interface Place {
  readonly name: string;
  newStage(): Stage;
}

export const bot: PrincipalInput = { id: "bot", kind: "agent", tenant: "acme" };
export const ana: PrincipalInput = { id: "ana", kind: "person", tenant: "acme" };

/** Every story is told on every store; those that need a server are a run of the tests of their own. */
export const places: readonly Place[] =
  process.env.WRIT_PLACE === "postgres"
    ? [await inPostgres()]
    : [
        { name: "memory", newStage: () => stageOn(inMemory) },
        { name: "SQLite", newStage: () => stageOn(inFile) },
      ];

async function inPostgres(): Promise<Place> {
  const vaultOn = await postgresVault();
  return { name: "Postgres", newStage: () => stageOn(vaultOn) };
}

/** A SQLite stage whose file can be reached behind the engine's back. */
export function fileStage(): Stage & { readonly file: string } {
  let file = "";
  const stage = stageOn((clock) => {
    const vault = inFile(clock);
    file = vault.file;
    return vault;
  });
  return { ...stage, file };
}

export interface Vault {
  /** A connection of its own, as each process has. */
  connect(): Store;
  dump(): unknown;
  /** Waits for the calls under way; for a store whose answers take more than a turn of the event loop. */
  answered?(): Promise<boolean>;
}

function stageOn(vaultOn: (clock: FakeClock) => Vault): Stage {
  const clock = fakeClock();
  const vault = vaultOn(clock);
  const timers = manualTimers(clock, vault.answered);
  const alive: Process[] = [];
  const begin = (): Process => {
    const process = processOn(vault.connect(), timers);
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
    pass: (ms) => timers.pass(ms),
    later: (ms, work) => void timers.after(ms, work),
    rest: async (run) => {
      let result: RunResult | null = null;
      void run.result().then((rested) => {
        result = rested;
      });
      for (let passed = 0; result === null && passed < MOST_MS; passed += 500) await timers.pass(500);
      return result ?? run.now();
    },
    crash: async () => {
      await crash();
      clock.advance(LEASE_MS); // In memory nobody tells that a worker is dead; its lease does.
    },
    dump: async () => {
      await timers.pass(0); // A lease is given back behind the scenes.
      return vault.dump();
    },
    store: () => begin().store,
  };
}

const LEASE_MS = 15_000;

/** No story rests longer than this on its way to its end. */
const MOST_MS = 30 * 60_000;

function inMemory(clock: FakeClock): Vault {
  const store: MemoryStore = memoryStore({ clock });
  return { connect: () => store, dump: () => store.dump() };
}

function inFile(clock: FakeClock): Vault & { readonly file: string } {
  const folder = mkdtempSync(join(tmpdir(), "writ-scenario-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "writ.db");
  return { file, connect: () => sqlite(file, { clock, timers: silent }), dump: () => dumpOf(file) };
}

/** Nobody else writes, so nobody looks out for others. */
const silent: Timers = { after: () => () => {} };

/** What an engine has until its process dies. After that its calls are never answered and its timers never ring. */
interface Process {
  readonly store: Store;
  readonly timers: Timers;
  die(): Promise<void>;
}

function processOn(real: Store, timers: Timers): Process {
  let dead = false;
  const held = Object.entries(real).map(([name, member]: [string, unknown]) => {
    if (typeof member !== "function" || name === "watch") return [name, member] as const;
    return [name, (...given: readonly unknown[]) => (dead ? never() : heard(member(...given)))] as const;
  });
  // What was asked before is answered to nobody.
  const heard = async (answer: Promise<unknown>): Promise<unknown> => {
    await Promise.allSettled([answer]);
    return dead ? never() : answer;
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

function never(): Promise<never> {
  return new Promise(() => {});
}

function dumpOf(file: string): unknown {
  const db = connect(file);
  try {
    const names = db.prepare("select name from sqlite_master where type = 'table' order by 1").all() as {
      name: string;
    }[];
    return names.map(({ name }) => [
      name,
      db
        .prepare(`select * from ${name}`)
        .all()
        .map((row) => cells(row as Row)),
    ]);
  } finally {
    db.close();
  }
}

type Row = Readonly<Record<string, Value>>;

function cells(row: Row): readonly Value[] {
  return Object.values(row).map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value));
}
