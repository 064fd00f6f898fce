import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "../../src/store/postgres/driver.ts";
import { driver } from "../../src/store/postgres/driver.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { startPostgres } from "../../tests/postgres/server.ts";

/** A Postgres that syncs what it commits, as one that is meant to keep something does. */
export interface Place {
  /** As an application connects: a role that owns nothing, and that every policy holds for. */
  readonly url: string;
  /** Every table as it was after migrating. */
  empty(): Promise<void>;
  query(text: string): Promise<void>;
  /** As the owner, whom no policy holds for. */
  connect(): Promise<Client>;
  /** What the server's processes have computed so far, in microseconds; those that have ended are not counted. */
  cpu(): number;
  close(): Promise<void>;
}

const settings = { fsync: "on", full_page_writes: "on", synchronous_commit: "on", shared_buffers: "512MB" };

export async function newPlace(): Promise<Place> {
  const { url, folder, stop } = await startPostgres(settings);
  const connect = async (): Promise<Client> => {
    const client = new (driver().Client)({
      connectionString: url,
      application_name: "bench",
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
    await client.connect();
    return client;
  };
  const client = await connect();
  await client.query(`create role ${role} login`);
  await migrate(url, { grant: role });
  const query = async (text: string): Promise<void> => void (await client.query(text));
  const server = Number(readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n")[0]);
  return {
    url: asRole(url),
    connect,
    query,
    empty: () =>
      query("truncate writ.head, writ.event, writ.rows, writ.tally, writ.due, writ.need, writ.lease, writ.marker"),
    cpu: () => cpuOf(server),
    close: async () => {
      await client.end();
      await stop();
    },
  };
}

const role = "bench";

function asRole(server: string): string {
  const url = new URL(server);
  url.username = role;
  return url.href;
}

const TICK_US = 10_000;

/** Of a process and its children, as Linux tells it. */
function cpuOf(parent: number): number {
  let ticks = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const fields = fieldsOf(name);
    if (Number(name) === parent || Number(fields[1]) === parent) ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * TICK_US;
}

/** What follows the name of the program; that may contain anything. */
function fieldsOf(pid: string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return []; // It has ended between the listing and the look.
  }
}
