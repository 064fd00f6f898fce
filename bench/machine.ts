import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { availableParallelism, cpus, platform, release, totalmem } from "node:os";
import { connectSqlite } from "../src/store/sqlite/sqlite-driver.ts";
import { median } from "./samples.ts";
import { withScratchFile } from "./scratch-file.ts";

/** The properties of the machine that the results depend on, without its owner. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gib: number;
  readonly os: string;
  readonly node: string;
  readonly sqlite: string;
  /** The time of one write and sync of a page, the minimum of every durable step. */
  readonly sync_us: number;
}

export async function describeMachine(): Promise<Machine> {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memory_gib: Math.round(totalmem() / 2 ** 30),
    os: `${platform()} ${release().split("-")[0]}`,
    node: process.version,
    sqlite: sqliteVersion(),
    sync_us: await withScratchFile(measureSync),
  };
}

function sqliteVersion(): string {
  const db = connectSqlite(":memory:");
  const { version } = db.prepare("select sqlite_version() as version").get() as { readonly version: string };
  db.close();
  return version;
}

function measureSync(path: string): number {
  const file = openSync(path, "w");
  const page = Buffer.alloc(4096);
  const times = Array.from({ length: 200 }, () => {
    const start = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    return performance.now() - start;
  });
  closeSync(file);
  return Math.round(1000 * median(times));
}
