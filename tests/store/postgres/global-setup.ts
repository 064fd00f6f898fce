import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import type { TestProject } from "vitest/node";
import { type Client, loadPgDriver } from "../../../src/store/postgres/pg-driver.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

/** The role that stores connect as. It owns nothing and bypasses nothing. */
export const appRole = "writ_test_app";

/** The role that owns the databases of tests and migrates them. It is no superuser. */
export const ownerRole = "writ_test_owner";

declare module "vitest" {
  interface ProvidedContext {
    /** A client that connects to this port receives the URL of the Postgres of this test run. */
    readonly postgresDoor: number;
    /** The prefix of the databases that are dropped at the end of the run. */
    readonly postgresPrefix: string;
  }
}

/** Provides one Postgres for all tests of a run, started on the first request. `WRIT_PG_URL` names another server. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | null = null;
  const start = async (): Promise<string> => {
    if (process.env.WRIT_PG_URL === undefined) server ??= startPostgres();
    const url = process.env.WRIT_PG_URL ?? (await server)?.url ?? "";
    console.info(`tests run on Postgres ${await createRoles(url)}`);
    return url;
  };
  let started: Promise<string> | null = null;
  const url = (): Promise<string> => {
    started ??= start();
    return started;
  };
  const listener = createServer((socket) => {
    url().then(
      (address) => socket.end(address),
      (error: unknown) => socket.end(`failed: ${error}`),
    );
  });
  await new Promise<void>((listening) => listener.listen(0, "127.0.0.1", listening));
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("no local port is free");
  project.provide("postgresDoor", address.port);
  const prefix = `writ_${randomBytes(4).toString("hex")}_`;
  project.provide("postgresPrefix", prefix);
  return async () => {
    listener.close();
    if (started !== null && server === null) await dropDatabases(await started, prefix);
    await (await server)?.stop();
  };
}

/** Creates both roles. Returns the version of the server. */
async function createRoles(url: string): Promise<string> {
  return onServer(url, async (client) => {
    for (const role of [appRole, ownerRole]) {
      await client.query(
        `do $$ begin create role ${role} login password '${role}'; exception when duplicate_object then null; end $$`,
      );
    }
    const { rows } = await client.query<readonly [string]>({ text: "show server_version", rowMode: "array" });
    return rows[0]?.[0] ?? "?";
  });
}

async function dropDatabases(url: string, prefix: string): Promise<void> {
  await onServer(url, async (client) => {
    const named = { text: "select datname from pg_database where starts_with(datname, $1)", values: [prefix] };
    const { rows } = await client.query<readonly [string]>({ ...named, rowMode: "array" });
    for (const [name] of rows) await client.query(`drop database ${name} with (force)`);
  });
}

async function onServer<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new (loadPgDriver().Client)({
    connectionString: url,
    application_name: "test",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
