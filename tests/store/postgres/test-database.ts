import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, inject } from "vitest";
import type { FunctionCall } from "../../../src/store/postgres/function-caller.ts";
import { migrate } from "../../../src/store/postgres/migrate.ts";
import { type Client, loadPgDriver } from "../../../src/store/postgres/pg-driver.ts";
import { appRole, ownerRole } from "./global-setup.ts";

/** A separate database on the Postgres of this test run. */
export interface TestDatabase {
  /** The URL of the application role, which owns nothing and bypasses nothing. */
  readonly url: string;
  /** The URL of the owner of the database and the tables, who is no superuser. */
  readonly ownerUrl: string;
  /** Runs a query as a superuser. */
  query<Row extends readonly unknown[]>(text: string): Promise<readonly Row[]>;
  /**
   * Runs several statements as the application role on a new connection. Returns the rows of the only statement that
   * returns rows.
   */
  asApp(text: string): Promise<readonly (readonly unknown[])[]>;
  /** Opens a new connection as a superuser. The caller ends it. */
  session(): Promise<Client>;
  /** Returns the query plans of all statements inside these calls, made with the application role. */
  plansOf(calls: readonly FunctionCall[]): Promise<readonly string[]>;
  /** Empties every table. */
  empty(): Promise<void>;
}

/** Makes one migrated database for all tests of a file. */
export function testDatabase(): TestDatabase {
  const database = emptyTestDatabase();
  beforeAll(async () => {
    await migrate(database.ownerUrl, { grant: appRole });
  });
  return database;
}

/** Makes one database without tables for all tests of a file. */
export function emptyTestDatabase(): TestDatabase {
  const database = new CreatedDatabase(newName());
  beforeAll(() => database.create());
  afterAll(() => database.drop());
  return database;
}

/** Makes one database for all test files of a process. It is dropped with the server or at the end of the run. */
export async function sharedTestDatabase(): Promise<TestDatabase> {
  const database = new CreatedDatabase(`${inject("postgresPrefix")}${newName()}`);
  await database.create();
  await migrate(database.ownerUrl, { grant: appRole });
  return database;
}

class CreatedDatabase implements TestDatabase {
  readonly #name: string;
  #server = "";
  #client: Client | null = null;

  constructor(name: string) {
    this.#name = name;
  }

  get url(): string {
    return asRole(this.#superuserUrl, appRole);
  }

  get ownerUrl(): string {
    return asRole(this.#superuserUrl, ownerRole);
  }

  get #superuserUrl(): string {
    return inDatabase(this.#server, this.#name);
  }

  async create(): Promise<void> {
    this.#server = await serverUrl();
    await asSuperuser(
      this.#server,
      `create database ${this.#name} owner ${ownerRole} encoding 'UTF8' template template0`,
    );
    this.#client = await connectClient(this.#superuserUrl);
  }

  async drop(): Promise<void> {
    await this.#client?.end();
    await asSuperuser(this.#server, `drop database ${this.#name} with (force)`);
  }

  /** A field and not a method, because callers pass it on by itself. */
  readonly query = async <Row extends readonly unknown[]>(text: string): Promise<readonly Row[]> => {
    if (this.#client === null) throw new Error("the database does not exist before the first test");
    return (await this.#client.query<Row>({ text, rowMode: "array" })).rows;
  };

  async asApp(text: string): Promise<readonly (readonly unknown[])[]> {
    const client = await connectClient(this.url);
    try {
      const answers = (await client.query<readonly unknown[]>({ text, rowMode: "array" })) as unknown as
        | Answer
        | Answer[];
      return [answers].flat().flatMap(({ rows }) => rows);
    } finally {
      await client.end();
    }
  }

  session(): Promise<Client> {
    return connectClient(this.#superuserUrl);
  }

  async plansOf(calls: readonly FunctionCall[]): Promise<readonly string[]> {
    const client = makeClient(this.#superuserUrl);
    const plans: string[] = [];
    client.on("notice", ({ message = "" }) => void plans.push(message));
    await client.connect();
    try {
      await client.query(explainSql);
      for (const { name, values } of calls)
        await client.query({ text: `select writ.${name}(${values.map((_, index) => `$${index + 1}`)})`, values });
      return plans;
    } finally {
      await client.end();
    }
  }

  async empty(): Promise<void> {
    await retryOnDeadlock(() => this.query(emptySql));
  }
}

function newName(): string {
  return `writ_${randomBytes(6).toString("hex")}`;
}

/**
 * Locks the tables and deletes their rows. For few rows this is ten times as fast as `truncate`, which also waits for
 * writers.
 */
const emptySql = `do $$
  declare made text[] := array(select format('writ.%I', relname) from pg_class
    where relkind = 'r' and relnamespace = 'writ'::regnamespace and relname not in ('migration', 'boot'));
  declare one text;
  begin
    execute 'lock table ' || array_to_string(made, ', ');
    foreach one in array made loop execute 'delete from ' || one; end loop;
  end $$`;

const explainSql = `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
  set client_min_messages = log; set role ${appRole}`;

/** Statements of the last test may lock the tables in another order, so a deadlock is retried. */
async function retryOnDeadlock(empty: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await empty();
      return;
    } catch (error) {
      if (!String(error).includes("deadlock")) throw error;
    }
  }
}

interface Answer {
  readonly rows: readonly (readonly unknown[])[];
}

function serverUrl(): Promise<string> {
  return new Promise((found, failed) => {
    let reply = "";
    const socket = connect(inject("postgresDoor"), "127.0.0.1");
    socket.on("data", (text) => {
      reply += text;
    });
    socket.on("error", failed);
    socket.on("end", () => (reply.startsWith("postgres") ? found(reply) : failed(new Error(reply))));
  });
}

function makeClient(url: string): Client {
  const settings = {
    connectionString: url,
    application_name: "test",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  };
  const client = new (loadPgDriver().Client)(settings);
  client.on("error", () => {}); // A test may stop the server, or drop the database, under it.
  return client;
}

async function connectClient(url: string): Promise<Client> {
  const client = makeClient(url);
  await client.connect();
  return client;
}

async function asSuperuser(url: string, text: string): Promise<void> {
  const client = await connectClient(url);
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

function inDatabase(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}

function asRole(text: string, role: string): string {
  const url = new URL(text);
  url.username = role;
  url.password = role;
  return url.href;
}
