import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { migrate } from "../../src/store/postgres/migrate.ts";
import type { Client } from "../../src/store/postgres/pg-driver.ts";
import { loadPgDriver } from "../../src/store/postgres/pg-driver.ts";
import { startPostgres } from "../../tests/store/postgres/postgres-server.ts";

/** A Postgres server that syncs every commit. */
export interface BenchServer {
  /** The URL of a role that owns nothing and is bound by row-level security. */
  readonly url: string;
  /** The URL of a role that may create databases. */
  readonly superuserUrl: string;
  /** Empties all tables. */
  empty(): Promise<void>;
  /** Ends the sessions of the role of `url`, such as those of killed processes, and returns when they have ended. */
  endSessions(): Promise<void>;
  query(text: string): Promise<void>;
  /** Connects as a superuser, who is not bound by row-level security. */
  connect(): Promise<Client>;
  /** Returns the processor time of the server's live processes in microseconds. */
  cpu(): number;
  close(): Promise<void>;
}

const settings = { fsync: "on", full_page_writes: "on", synchronous_commit: "on", shared_buffers: "512MB" };

export async function startBenchServer(): Promise<BenchServer> {
  const { url, folder, stop } = await startPostgres(settings);
  const connect = async (): Promise<Client> => {
    const client = new (loadPgDriver().Client)({
      connectionString: url,
      application_name: "bench",
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
    await client.connect();
    return client;
  };
  const client = await connect();
  await client.query(`create role ${role} login; create role ${ownerRole} login`);
  await client.query(`grant create on database postgres to ${ownerRole}`);
  await migrate(urlForRole(url, ownerRole), { grant: role });
  const query = async (text: string): Promise<void> => void (await client.query(text));
  const server = Number(readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n")[0]);
  return {
    url: urlForRole(url, role),
    superuserUrl: url,
    connect,
    query,
    empty: () =>
      query(
        "truncate writ.head, writ.event, writ.rows, writ.tally, writ.due, writ.need, writ.lease, writ.marker, writ.tag, writ.outdated",
      ),
    endSessions: () => query(`select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = '${role}'`),
    cpu: () => cpuMicros(server),
    close: async () => {
      await client.end();
      await stop();
    },
  };
}

const role = "bench";
const ownerRole = "bench_owner";

function urlForRole(server: string, role: string): string {
  const url = new URL(server);
  url.username = role;
  return url.href;
}

const TICK_US = 10_000;

/** Returns the processor time of a process and its children, from /proc. */
function cpuMicros(parent: number): number {
  let ticks = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statFields(name);
    if (Number(name) === parent || Number(fields[1]) === parent) ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * TICK_US;
}

/** Returns the fields after the program name, which may contain spaces. */
function statFields(pid: string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return []; // The process has ended since the listing.
  }
}
