import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, inject } from "vitest";
import type { Call } from "../../src/store/postgres/calls.ts";
import { type Client, driver } from "../../src/store/postgres/driver.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { appRole } from "./setup.ts";

/** A database of its own on the Postgres of this test run. */
export interface Database {
  /** As the application connects: a role that owns nothing and bypasses nothing. */
  readonly url: string;
  /** As who made the tables. */
  readonly ownerUrl: string;
  /** As the owner, beside the store. */
  query<Row extends readonly unknown[]>(text: string): Promise<readonly Row[]>;
  /** As the application, several statements on a connection of their own; the rows of the only one that has any. */
  asApp(text: string): Promise<readonly (readonly unknown[])[]>;
  /** A connection of its own, as the owner; whoever asks for it ends it. */
  session(): Promise<Client>;
  /** How Postgres carries out each statement inside of these calls, made by the application's role. */
  plansOf(calls: readonly Call[]): Promise<readonly string[]>;
  /** Every table as it was after migrating. */
  empty(): Promise<void>;
}

/** One for all tests of a file, there from the first of them on. */
export function database(): Database {
  const made = unmigrated();
  beforeAll(async () => {
    await migrate(made.ownerUrl, { grant: appRole });
  });
  return made;
}

/** The same without tables. */
export function unmigrated(): Database {
  const made = new Made(newName());
  beforeAll(() => made.create());
  afterAll(() => made.drop());
  return made;
}

/** One for all files of tests that share a process. It goes with the server, or with the run where the server stays. */
export async function keptDatabase(): Promise<Database> {
  const made = new Made(`${inject("postgresPrefix")}${newName()}`);
  await made.create();
  await migrate(made.ownerUrl, { grant: appRole });
  return made;
}

class Made implements Database {
  readonly #name: string;
  #server = "";
  #client: Client | null = null;

  constructor(name: string) {
    this.#name = name;
  }

  get url(): string {
    return asRole(this.ownerUrl);
  }

  get ownerUrl(): string {
    return inDatabase(this.#server, this.#name);
  }

  async create(): Promise<void> {
    this.#server = await serverUrl();
    await asSuperuser(this.#server, `create database ${this.#name} encoding 'UTF8' template template0`);
    this.#client = await connected(this.ownerUrl);
  }

  async drop(): Promise<void> {
    await this.#client?.end();
    await asSuperuser(this.#server, `drop database ${this.#name} with (force)`);
  }

  /** A field, as it is handed about by itself. */
  readonly query = async <Row extends readonly unknown[]>(text: string): Promise<readonly Row[]> => {
    if (this.#client === null) throw new Error("there is no database before the first test");
    return (await this.#client.query<Row>({ text, rowMode: "array" })).rows;
  };

  async asApp(text: string): Promise<readonly (readonly unknown[])[]> {
    const client = await connected(this.url);
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
    return connected(this.ownerUrl);
  }

  async plansOf(calls: readonly Call[]): Promise<readonly string[]> {
    const client = clientOf(this.ownerUrl);
    const plans: string[] = [];
    client.on("notice", ({ message = "" }) => void plans.push(message));
    await client.connect();
    try {
      await client.query(explained);
      for (const { name, values } of calls)
        await client.query({ text: `select writ.${name}(${values.map((_, index) => `$${index + 1}`)})`, values });
      return plans;
    } finally {
      await client.end();
    }
  }

  async empty(): Promise<void> {
    await patiently(() => this.query(emptied));
  }
}

function newName(): string {
  return `writ_${randomBytes(6).toString("hex")}`;
}

/** Waits for whoever still writes, as `truncate` does, which takes ten times as long for the few rows of a story. */
const emptied = `do $$
  declare made text[] := array(select format('writ.%I', relname) from pg_class
    where relkind = 'r' and relnamespace = 'writ'::regnamespace and relname not in ('migration', 'boot'));
  declare one text;
  begin
    execute 'lock table ' || array_to_string(made, ', ');
    foreach one in array made loop execute 'delete from ' || one; end loop;
  end $$`;

const explained = `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
  set client_min_messages = log; set role ${appRole}`;

/** What the last story still has under way may want its tables in another order. */
async function patiently(empty: () => Promise<unknown>): Promise<void> {
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
    let said = "";
    const socket = connect(inject("postgresDoor"), "127.0.0.1");
    socket.on("data", (text) => {
      said += text;
    });
    socket.on("error", failed);
    socket.on("end", () => (said.startsWith("postgres") ? found(said) : failed(new Error(said))));
  });
}

function clientOf(url: string): Client {
  const settings = {
    connectionString: url,
    application_name: "test",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  };
  const client = new (driver().Client)(settings);
  client.on("error", () => {}); // A test may stop the server, or drop the database, under it.
  return client;
}

async function connected(url: string): Promise<Client> {
  const client = clientOf(url);
  await client.connect();
  return client;
}

async function asSuperuser(url: string, text: string): Promise<void> {
  const client = await connected(url);
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

function asRole(text: string): string {
  const url = new URL(text);
  url.username = appRole;
  url.password = appRole;
  return url.href;
}
