import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The program: `pgbouncer` in the path, or the one that the environment names. */
const program = process.env.WRIT_PGBOUNCER ?? "pgbouncer";

/** Null if pgbouncer is not installed. */
export const pgbouncerVersion: string | null =
  /PgBouncer (\S+)/.exec(spawnSync(program, ["--version"], { encoding: "utf8" }).stdout ?? "")?.[1] ?? null;

/** It refuses to run as root. */
const UNPRIVILEGED_ID = 65_534;

export interface Pgbouncer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts pgbouncer in transaction mode in front of a database, with this number of server connections. */
export async function startPgbouncer(url: string, servers: number): Promise<Pgbouncer> {
  const database = new URL(url);
  const folder = mkdtempSync(join(tmpdir(), "writ-pgbouncer-"));
  const port = await freePort();
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    `[databases]
* = host=${database.hostname} port=${database.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, "users.txt")}
pool_mode = transaction
default_pool_size = ${servers}
ignore_startup_parameters = extra_float_digits
`,
  );
  writeFileSync(join(folder, "users.txt"), `"${database.username}" "${decodeURIComponent(database.password)}"\n`);
  chmodSync(folder, 0o755);
  const user = process.getuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {};
  const child = spawn(program, [join(folder, "pgbouncer.ini")], { stdio: ["ignore", "ignore", "pipe"], ...user });
  const log: string[] = [];
  child.stderr?.on("data", (bytes) => log.push(String(bytes)));
  await untilOpen(child, port, log);
  const pooled = new URL(url);
  pooled.hostname = "127.0.0.1";
  pooled.port = String(port);
  return {
    url: pooled.href,
    stop: async () => {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Waits until pgbouncer accepts connections. Throws its log if it ends before. */
async function untilOpen(child: ChildProcess, port: number, log: readonly string[]): Promise<void> {
  while (child.exitCode === null) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`pgbouncer ended: ${log.join("")}`);
}
