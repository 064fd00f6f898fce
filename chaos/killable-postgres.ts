import { type ChildProcess, spawn } from "node:child_process";
import { loadPgDriver } from "../src/store/postgres/pg-driver.ts";
import { createCluster, type PostgresCluster } from "../tests/store/postgres/postgres-server.ts";
import type { CleanupGuard } from "./cleanup-guard.ts";

/** How the server fails. */
export type ServerFailure =
  | "stopped at once" // Immediate shutdown: nothing is flushed.
  | "killed" // The main process.
  | "a backend killed"; // One of the others: the main process restarts all of them.

export const serverFailures: readonly ServerFailure[] = ["stopped at once", "killed", "a backend killed"];

/** A real Postgres that can be crashed, and restarts on the same port with its data. */
export class KillablePostgres {
  readonly #cluster: PostgresCluster;
  readonly #guard: CleanupGuard;
  #process: ChildProcess | null = null;

  constructor(cluster: PostgresCluster, guard: CleanupGuard) {
    this.#cluster = cluster;
    this.#guard = guard;
  }

  /** Delays the WAL writer, so that a crash loses everything that no commit has synced. */
  static cluster(): Promise<PostgresCluster> {
    return createCluster({ wal_writer_delay: "2000", max_connections: "300", restart_after_crash: "on" });
  }

  get url(): string {
    return this.#cluster.url;
  }

  /** Starts the server; after a kill, repeats this until the processes of the previous server have ended. */
  async start(): Promise<void> {
    for (;;) {
      const { command, args, as } = this.#cluster;
      const child = spawn(command, [...args], { ...as, stdio: ["ignore", "ignore", "pipe"] });
      this.#guard.keep(child);
      this.#process = child;
      if (await waitUntilReady(child)) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Crashes the server and waits until it is up again. Returns false if there was no backend to kill. */
  async crash(how: ServerFailure): Promise<boolean> {
    const child = this.#process;
    if (child?.pid === undefined) throw new Error("the server is not running");
    if (how === "a backend killed") return this.#killBackend();
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill(how === "killed" ? "SIGKILL" : "SIGQUIT");
    await exited;
    await this.start();
    return true;
  }

  async #killBackend(): Promise<boolean> {
    const backends = await this.#backends().catch(() => []); // The server may be too busy to answer.
    const killed = backends.find(killProcess);
    if (killed !== undefined) await this.#waitUntilUp();
    return killed !== undefined;
  }

  /** Ends one connection of a worker, as an operator or a failing network would. */
  async terminate(choose: (count: number) => number): Promise<void> {
    const backends = await this.#backends();
    const pid = backends[choose(backends.length)];
    if (pid !== undefined) await this.ask(`select pg_terminate_backend(${pid})`);
  }

  async #backends(): Promise<readonly number[]> {
    const text = "select pid from pg_stat_activity where application_name = 'writ'";
    return (await this.rows<readonly [number]>(text)).map(([pid]) => pid);
  }

  async #waitUntilUp(): Promise<void> {
    for (;;) {
      try {
        await this.ask("select 1");
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** Returns the first column of the first row. */
  async ask<Value>(text: string): Promise<Value | undefined> {
    return (await this.rows<readonly [Value]>(text))[0]?.[0];
  }

  /** Runs a query on a new connection. */
  async rows<Row extends readonly unknown[]>(text: string, values: readonly string[] = []): Promise<readonly Row[]> {
    const client = new (loadPgDriver().Client)({
      connectionString: this.url,
      application_name: "chaos",
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query<Row>({ text, values: [...values], rowMode: "array" })).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }
}

/** Returns false if the server ended instead. */
function waitUntilReady(child: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    let output = "";
    child.stderr?.on("data", (text: Buffer) => {
      output = `${output}${text}`.slice(-4_000);
      if (output.includes("ready to accept connections")) resolve(true);
    });
    child.once("exit", () => resolve(false));
  });
}

/** Returns false if the process had already ended. */
function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}
