import { randomUUID } from "node:crypto";
import type { Clock, Timers } from "../../core/ports/clock.ts";
import { leaseLength } from "../../core/store/lease-length.ts";
import type { Store } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { createAppender } from "./appender.ts";
import { createChangeNotifications } from "./change-notifications.ts";
import { createFunctionCaller, type FunctionCaller } from "./function-caller.ts";
import { indexColumnCheck } from "./index-column-check.ts";
import { createLeaseRenewals } from "./lease-renewals.ts";
import { assertUsable } from "./migrate.ts";
import { type ConnectionSettings, loadPgDriver, type PgDriver, type Pool } from "./pg-driver.ts";
import { postgresAddress, toPostgresFault } from "./postgres-fault.ts";
import { postgresHeldRunAsks } from "./postgres-held-run-asks.ts";
import { postgresLeases, postgresMarkers } from "./postgres-leases.ts";
import { serverClock } from "./server-clock.ts";
import { postgresBlobs, postgresJournalReads, postgresRowReads } from "./store-reads.ts";
import { workerList } from "./worker-list.ts";

export interface PostgresOptions {
  /** The clock that decides when leases expire; by default the server's. */
  readonly clock?: Clock;
  /** How long a lease lasts without being renewed, in milliseconds. */
  readonly leaseMs?: number;
  /** Timers between change hints, and before a lost listener reconnects. */
  readonly timers?: Timers;
  /** The maximum number of connections, without the one that listens. Two of them only append. */
  readonly connections?: number;
  /** How long to wait for a connection, in milliseconds. */
  readonly connectMs?: number;
  /** How long to wait for an answer before the connection counts as broken, in milliseconds. */
  readonly answerMs?: number;
}

/** How many batches are in flight at once: while the server syncs one to disk, it works on the next. */
const APPEND_CONNECTIONS = 2;

/** Opens a store that many processes share. Each of them may read, decide and execute. */
export function postgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const store = openStore(url, options);
  // The caller receives the rejection when it awaits the promise. Until then it must not end the process as unhandled.
  store.catch(() => {});
  return store;
}

async function openStore(url: string, options: PostgresOptions): Promise<Store> {
  const where = postgresAddress(url);
  const pools = createPools(loadPgDriver(), url, options);
  try {
    await assertServerUsable(pools.others, where);
    return await createStore(pools, where, options);
  } catch (error) {
    await pools.end();
    throw toPostgresFault(error, where);
  }
}

async function assertServerUsable(pool: Pool, where: string): Promise<void> {
  const connection = await pool.connect();
  try {
    await assertUsable(connection, where);
  } finally {
    connection.release(false);
  }
}

interface Pools {
  readonly settings: ConnectionSettings;
  readonly appends: Pool;
  readonly others: Pool;
  listener(): InstanceType<PgDriver["Client"]>;
  end(): Promise<void>;
}

function createPools({ Pool, Client }: PgDriver, url: string, options: PostgresOptions): Pools {
  const { connections = 8, connectMs = 10_000, answerMs = 30_000 } = options;
  const settings: ConnectionSettings = {
    connectionString: url,
    application_name: "writ",
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
  };
  const pool = (max: number, idleTimeoutMillis: number): Pool => {
    const made = new Pool({ ...settings, query_timeout: answerMs, max, idleTimeoutMillis, allowExitOnIdle: true });
    // A broken connection rejects the query that uses it, and is replaced. An error without a listener ends the
    // process.
    made.on("error", () => {});
    made.on("connect", (client) => client.on("error", () => {}));
    return made;
  };
  const appends = pool(APPEND_CONNECTIONS, 0);
  const others = pool(Math.max(1, connections - APPEND_CONNECTIONS), 60_000);
  return {
    settings,
    appends,
    others,
    listener: () => new Client(settings),
    end: async () => void (await Promise.all([appends.end(), others.end()])),
  };
}

async function createStore(pools: Pools, where: string, options: PostgresOptions): Promise<Store> {
  const { clock, timers = systemTimers } = options;
  const leaseMs = leaseLength(options.leaseMs);
  let isOpen = true;
  const whileOpen =
    (calls: FunctionCaller): FunctionCaller =>
    (call, refused) =>
      isOpen ? calls(call, refused) : Promise.reject(closedFault(where));
  const others = createFunctionCaller(pools.others, where);
  const calls = whileOpen(others);
  const server = serverClock();
  const { watch, notify, stop } = createChangeNotifications(pools.listener, others, timers, randomUUID());
  const thread = createLeaseRenewals({ settings: pools.settings, leaseMs, where });
  const givenNow = () => clock?.now() ?? null;
  const appender = createAppender({
    calls: createFunctionCaller(pools.appends, where),
    lanes: APPEND_CONNECTIONS,
    where,
    lease: () => ({ leaseMs, now: givenNow() }),
    onLanded: notify,
  });
  const { nextDue, ...leases } = postgresLeases({
    calls,
    leaseMs,
    givenNow,
    serverClock: server,
    renewals: thread,
    claimWithFirstEntry: appender.claim,
  });
  const { forgetOwn, ...workers } = workerList({ calls, leaseMs, givenNow, onRegistered: thread.start });
  const boot = await trackBoot(pools.others, calls);
  await nextDue(); // Sets the server clock.
  return {
    clock: clock ?? server,
    leaseMs,
    get boot() {
      return boot.name;
    },
    append: (entries) => (isOpen ? appender.append(entries) : Promise.reject(closedFault(where))),
    ...postgresJournalReads(calls),
    ...postgresRowReads(calls),
    ...indexColumnCheck(calls),
    ...postgresBlobs(calls),
    ...leases,
    nextDue,
    ...postgresMarkers(calls, boot.set),
    ...postgresHeldRunAsks({ calls, leaseMs, givenNow }),
    watch,
    ...serverDuties,
    ...workers,
    close: async () => {
      if (!isOpen) return;
      isOpen = false;
      await forgetOwn(others);
      await appender.idle();
      await Promise.all([stop(), thread.stop()]);
      await pools.end();
    },
  };
}

/** The server writes its own log, and keeps concurrent retentions apart. */
const serverDuties: Pick<Store, "changes" | "truncateLog" | "beginMaintenance"> = {
  changes: () => null,
  truncateLog: async () => "server",
  beginMaintenance: async () => () => {},
};

/** Reads the boot of the server, now and after each new connection. */
async function trackBoot(pool: Pool, calls: FunctionCaller) {
  let current = await readBoot(calls);
  const set = (name: string): void => {
    current = name;
  };
  // The server may have crashed since the last connection was made. Attempts that start from now on must name its
  // current boot.
  pool.on("connect", () => void readBoot(calls).then(set, () => {}));
  return {
    get name() {
      return current;
    },
    set,
  };
}

async function readBoot(calls: FunctionCaller): Promise<string> {
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
