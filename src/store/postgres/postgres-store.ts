import { randomUUID } from "node:crypto";
import { FaultError, fault } from "../../core/fault.ts";
import { leaseOf } from "../../core/lease.ts";
import type { Store } from "../../core/store.ts";
import type { Clock, Timers } from "../../core/time/clock.ts";
import { appends } from "./appends.ts";
import { type Calls, callsOn } from "./calls.ts";
import { type Driver, driver, type Pool, type Settings } from "./driver.ts";
import { claims, markers } from "./leases.ts";
import { assertUsable } from "./migrate.ts";
import { failed, placeOf } from "./postgres-fault.ts";
import { blobs, journalReads, rowReads } from "./reads.ts";
import { renewals } from "./renewals.ts";
import { serverClock } from "./server-clock.ts";
import { watching } from "./watch.ts";

export interface PostgresOptions {
  /** Whose time leases are judged by; the server's unless said. */
  readonly clock?: Clock;
  /** How long a claim holds without being renewed. */
  readonly leaseMs?: number;
  /** What waits between hints, and before listening again. */
  readonly timers?: Timers;
  /** How many connections at most, the one that listens not counted; two of them only append. */
  readonly connections?: number;
  /** How long to wait for a connection. */
  readonly connectMs?: number;
  /** How long to wait for an answer before the connection counts as broken. */
  readonly answerMs?: number;
}

/** How many batches of appends are under way at once: while one is synced to disk, the next is worked on. */
const LANES = 2;

/** A store that many processes share: every one of them may read, command and execute. */
export function postgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const store = open(url, options);
  // Whoever awaits it is told. Until then a store that cannot be opened is no reason for the process to end.
  store.catch(() => {});
  return store;
}

async function open(url: string, options: PostgresOptions): Promise<Store> {
  const where = placeOf(url);
  const pools = poolsOf(driver(), url, options);
  try {
    await inspected(pools.others, where);
    return await storeOn(pools, where, options);
  } catch (error) {
    await pools.end();
    throw failed(error, where);
  }
}

async function inspected(pool: Pool, where: string): Promise<void> {
  const connection = await pool.connect();
  try {
    await assertUsable(connection, where);
  } finally {
    connection.release(false);
  }
}

interface Pools {
  readonly settings: Settings;
  readonly appends: Pool;
  readonly others: Pool;
  listener(): InstanceType<Driver["Client"]>;
  end(): Promise<void>;
}

function poolsOf({ Pool, Client }: Driver, url: string, options: PostgresOptions): Pools {
  const { connections = 8, connectMs = 10_000, answerMs = 30_000 } = options;
  const settings: Settings = {
    connectionString: url,
    application_name: "writ",
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
  };
  const pool = (max: number, idleTimeoutMillis: number): Pool => {
    const made = new Pool({ ...settings, query_timeout: answerMs, max, idleTimeoutMillis, allowExitOnIdle: true });
    // A connection that breaks is told to whoever uses it, and replaced. Said to nobody, it would also end the process.
    made.on("error", () => {});
    made.on("connect", (client) => client.on("error", () => {}));
    return made;
  };
  const appends = pool(LANES, 0);
  const others = pool(Math.max(1, connections - LANES), 60_000);
  return {
    settings,
    appends,
    others,
    listener: () => new Client(settings),
    end: async () => void (await Promise.all([appends.end(), others.end()])),
  };
}

async function storeOn(pools: Pools, where: string, options: PostgresOptions): Promise<Store> {
  const { clock, timers = systemTimers } = options;
  const leaseMs = leaseOf(options.leaseMs);
  let isOpen = true;
  const whileOpen =
    (calls: Calls): Calls =>
    (call, refused) =>
      isOpen ? calls(call, refused) : Promise.reject(closedFault(where));
  const others = callsOn(pools.others, where);
  const calls = whileOpen(others);
  const server = serverClock();
  const { watch, tell, stop } = watching(pools.listener, others, timers, randomUUID());
  const thread = renewals({ settings: pools.settings, leaseMs, where });
  const givenNow = () => clock?.now() ?? null;
  const {
    idle,
    append,
    claim: claimBegun,
  } = appends({
    calls: callsOn(pools.appends, where),
    lanes: LANES,
    where,
    lease: () => ({ leaseMs, now: givenNow() }),
    landed: tell,
  });
  const { nextDue, ...leases } = claims({
    calls,
    leaseMs,
    givenNow,
    serverClock: server,
    renewals: thread,
    claimBegun,
  });
  let boot = await bootOf(calls);
  const heard = (name: string): void => {
    boot = name;
  };
  // The server may have crashed since the last connection was made: what is started from now on is to name its boot of now.
  pools.others.on("connect", () => void bootOf(calls).then(heard, () => {}));
  await nextDue(); // Tells the time.
  return {
    clock: clock ?? server,
    leaseMs,
    get boot() {
      return boot;
    },
    append: (entries) => (isOpen ? append(entries) : Promise.reject(closedFault(where))),
    ...journalReads(calls),
    ...rowReads(calls),
    ...blobs(calls),
    ...leases,
    nextDue,
    ...markers(calls, heard),
    watch,
    // As many as like; each run has one.
    lockWorker: async () => thread.start(),
    close: async () => {
      if (!isOpen) return;
      isOpen = false;
      await idle();
      await Promise.all([stop(), thread.stop()]);
      await pools.end();
    },
  };
}

async function bootOf(calls: Calls): Promise<string> {
  const [answer] = await calls<readonly [string]>({ name: "boot_name", values: [] });
  return answer?.[0] ?? "unknown";
}

function closedFault(where: string): FaultError {
  return new FaultError(fault("STORE_FAILED", `${where} was closed; open it again`));
}

const systemTimers: Timers = {
  after: (ms, work) => {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
};
