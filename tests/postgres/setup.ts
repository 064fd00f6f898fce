import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import type { TestProject } from "vitest/node";
import { type Client, driver } from "../../src/store/postgres/driver.ts";
import { type Server, startPostgres } from "./server.ts";

/** Owns nothing and bypasses nothing: what an application is to connect as. */
export const appRole = "writ_test_app";

declare module "vitest" {
  interface ProvidedContext {
    /** Whoever connects here is told the address of the Postgres of this test run. */
    readonly postgresDoor: number;
    /** What the names of databases begin with that are dropped when the run is over. */
    readonly postgresPrefix: string;
  }
}

/** One Postgres for all tests of a run, started when the first of them asks for it. `WRIT_PG_URL` names another. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<Server> | null = null;
  const start = async (): Promise<string> => {
    if (process.env.WRIT_PG_URL === undefined) server ??= startPostgres();
    const url = process.env.WRIT_PG_URL ?? (await server)?.url ?? "";
    console.info(`tests run on Postgres ${await made(url)}`);
    return url;
  };
  let started: Promise<string> | null = null;
  const url = (): Promise<string> => {
    started ??= start();
    return started;
  };
  const door = createServer((socket) => {
    url().then(
      (address) => socket.end(address),
      (error: unknown) => socket.end(`failed: ${error}`),
    );
  });
  await new Promise<void>((listening) => door.listen(0, "127.0.0.1", listening));
  const address = door.address();
  if (address === null || typeof address === "string") throw new Error("the loopback has no port left");
  project.provide("postgresDoor", address.port);
  const prefix = `writ_${randomBytes(4).toString("hex")}_`;
  project.provide("postgresPrefix", prefix);
  return async () => {
    door.close();
    if (started !== null && server === null) await dropped(await started, prefix);
    await (await server)?.stop();
  };
}

/** Makes the role that stores connect as; answers with the server's version. */
async function made(url: string): Promise<string> {
  return onServer(url, async (client) => {
    await client.query(
      `do $$ begin create role ${appRole} login password '${appRole}'; exception when duplicate_object then null; end $$`,
    );
    const { rows } = await client.query<readonly [string]>({ text: "show server_version", rowMode: "array" });
    return rows[0]?.[0] ?? "?";
  });
}

async function dropped(url: string, prefix: string): Promise<void> {
  await onServer(url, async (client) => {
    const named = { text: "select datname from pg_database where starts_with(datname, $1)", values: [prefix] };
    const { rows } = await client.query<readonly [string]>({ ...named, rowMode: "array" });
    for (const [name] of rows) await client.query(`drop database ${name} with (force)`);
  });
}

async function onServer<T>(url: string, ask: (client: Client) => Promise<T>): Promise<T> {
  const client = new (driver().Client)({
    connectionString: url,
    application_name: "test",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  await client.connect();
  try {
    return await ask(client);
  } finally {
    await client.end();
  }
}
