import { type ChildProcess, spawn } from "node:child_process";
import { driver } from "../src/store/postgres/driver.ts";
import { type Cluster, newCluster } from "../tests/postgres/server.ts";
import type { Guard } from "./guard.ts";

/** How a server goes down without being asked. */
export type Fall =
  | "stopped at once" // As an operator who does not wait: nothing is written out.
  | "killed" // Its first process.
  | "a backend killed"; // One of the others: the first one starts all of them anew.

export const falls: readonly Fall[] = ["stopped at once", "killed", "a backend killed"];

/** A real Postgres that can be brought down, and comes back on the same port with what it had written. */
export class Server {
  readonly #cluster: Cluster;
  readonly #guard: Guard;
  #process: ChildProcess | null = null;

  constructor(cluster: Cluster, guard: Guard) {
    this.#cluster = cluster;
    this.#guard = guard;
  }

  /** Nothing is written before a commit waits for it, so that what need not be on disk is lost. */
  static cluster(): Promise<Cluster> {
    return newCluster({ wal_writer_delay: "2000", max_connections: "300", restart_after_crash: "on" });
  }

  get url(): string {
    return this.#cluster.url;
  }

  /** After a kill, a new one has to wait for what is left of the last. */
  async start(): Promise<void> {
    for (;;) {
      const { command, args, as } = this.#cluster;
      const child = spawn(command, [...args], { ...as, stdio: ["ignore", "ignore", "pipe"] });
      this.#guard.keep(child);
      this.#process = child;
      if (await isUp(child)) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Brings it down, and answers when it is up again. False: there was nobody to kill. */
  async fall(how: Fall): Promise<boolean> {
    const child = this.#process;
    if (child?.pid === undefined) throw new Error("the server is not running");
    if (how === "a backend killed") return this.#loseBackend();
    const over = new Promise((resolve) => child.once("exit", resolve));
    child.kill(how === "killed" ? "SIGKILL" : "SIGQUIT");
    await over;
    await this.start();
    return true;
  }

  async #loseBackend(): Promise<boolean> {
    const others = await this.#others().catch(() => []); // It may be too busy to say.
    const victim = others.find(isKilled);
    if (victim !== undefined) await this.#isBack();
    return victim !== undefined;
  }

  /** Ends one connection of a worker, as an operator or a failing network would. */
  async terminate(choose: (count: number) => number): Promise<void> {
    const others = await this.#others();
    const pid = others[choose(others.length)];
    if (pid !== undefined) await this.ask(`select pg_terminate_backend(${pid})`);
  }

  async #others(): Promise<readonly number[]> {
    const text = "select pid from pg_stat_activity where application_name = 'writ'";
    return (await this.rows<readonly [number]>(text)).map(([pid]) => pid);
  }

  async #isBack(): Promise<void> {
    for (;;) {
      try {
        await this.ask("select 1");
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** The first column of the first row. */
  async ask<Value>(text: string): Promise<Value | undefined> {
    return (await this.rows<readonly [Value]>(text))[0]?.[0];
  }

  /** Asks on a connection of its own. */
  async rows<Row extends readonly unknown[]>(text: string, values: readonly string[] = []): Promise<readonly Row[]> {
    const client = new (driver().Client)({
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

/** False: it ended instead. */
function isUp(child: ChildProcess): Promise<boolean> {
  return new Promise((answer) => {
    let said = "";
    child.stderr?.on("data", (text: Buffer) => {
      said = `${said}${text}`.slice(-4_000);
      if (said.includes("ready to accept connections")) answer(true);
    });
    child.once("exit", () => answer(false));
  });
}

/** False: it had ended by itself. */
function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}
