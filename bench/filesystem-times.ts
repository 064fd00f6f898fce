import { createHash } from "node:crypto";
import {
  closeSync,
  fdatasyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Access, Capture } from "../src/core/ports/resource.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { MemoryFilesystem } from "../src/resources/memory/memory-filesystem.ts";
import { type Measurement, type MeasurementOrder, measurePair } from "./measurement.ts";
import { sampleMedian } from "./samples.ts";
import { newScratchFile } from "./scratch-file.ts";

const tries = 15;

/** Measures the restore of one changed file among many in memory. */
export function memoryRollback(id: string, count: number): Measurement {
  let cached: MemoryFilesystem | null = null;
  return {
    id,
    about: `one changed file among ${count} in memory: restore`,
    limitAbout: "setting one field",
    unit: "µs",
    goal: { of: "value", atMost: 10 },
    round: async (order) => {
      cached ??= new MemoryFilesystem({ files: Object.fromEntries(treePaths(count).map((path) => [path, path])) });
      const files = cached;
      const holder = { tree: {} };
      return measurePair(order, {
        engine: () => sampleMedian(tries, async () => 1000 * (await timeRollback(files))),
        limit: () => sampleMedian(tries, async () => 1000 * timeSync(() => Object.assign(holder, { tree: {} }))),
      });
    },
  };
}

async function timeRollback(files: MemoryFilesystem): Promise<number> {
  const capture = await files.capture("bench", "handle");
  await (await files.open(capture)).write(treePaths(1)[0] as string, "changed");
  const start = performance.now();
  await files.restore(capture);
  const took = performance.now() - start;
  await files.release(capture);
  return took;
}

/** Measures the capture and the restore of one file that is changed through the handle. */
export function handleTime(id: string, part: "capture" | "restore", count: number): Measurement {
  const tree = lazyTree(count);
  const limit = part === "capture" ? copyDurably : syncFile;
  return {
    id,
    about: `one file changed through the handle, in a tree of ${count}: ${part === "capture" ? "capture and first write" : "restore"}`,
    limitAbout:
      part === "capture"
        ? "reading it, its SHA-256, a copy of its bytes, one fdatasync, and writing the file"
        : "writing the bytes and one fdatasync",
    unit: "ms",
    goal: { of: "value", atMost: 0.5 },
    round: async (order: MeasurementOrder) => {
      const { root, files } = await tree();
      const file = join(root, treePaths(1)[0] as string);
      return measurePair(order, {
        engine: () => sampleMedian(tries, async () => (await timeHandleCall(files))[part]),
        limit: () => sampleMedian(tries, async () => timeSync(() => limit(file))),
      });
    },
  };
}

async function timeHandleCall(files: HostFilesystem): Promise<{ readonly capture: number; readonly restore: number }> {
  const start = performance.now();
  const capture = await files.capture("bench", "handle");
  await (await files.open(capture)).write(treePaths(1)[0] as string, "changed");
  const captured = performance.now();
  await files.restore(capture);
  const restored = performance.now();
  await files.release(capture);
  return { capture: captured - start, restore: restored - captured };
}

/** Measures the scans of the whole tree for one file that is changed without the handle. */
export function scanTime(id: string, part: "snapshot" | "restore", count: number): Measurement {
  const tree = lazyTree(count);
  return {
    id,
    about: `one file changed without the handle, in a tree of ${count} that was scanned before: ${part}`,
    limitAbout: "one scan of the tree with readdir and lstat",
    unit: "ms",
    goal: { of: "ratio", atMost: 1.5 },
    round: async (order: MeasurementOrder) => {
      const { root, files } = await tree();
      return measurePair(order, {
        engine: () => sampleMedian(5, async () => (await timeRawCall(files, root))[part]),
        limit: () => sampleMedian(5, async () => timeSync(() => scanTree(root))),
      });
    },
  };
}

async function timeRawCall(
  files: HostFilesystem,
  root: string,
): Promise<{ readonly snapshot: number; readonly restore: number }> {
  writeFileSync(join(root, treePaths(2)[1] as string), `before ${performance.now()}`);
  const start = performance.now();
  const capture: Capture = await files.capture("bench", "raw" satisfies Access);
  const captured = performance.now();
  await files.open(capture);
  writeFileSync(join(root, treePaths(1)[0] as string), `changed ${performance.now()}`);
  const opened = performance.now();
  await files.restore(capture);
  const restored = performance.now();
  await files.release(capture);
  return { snapshot: captured - start, restore: restored - opened };
}

function scanTree(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = `${folder}/${name}`;
    if (lstatSync(path).isDirectory()) scanTree(path);
  }
}

function copyDurably(file: string): void {
  const bytes = readFileSync(file);
  createHash("sha256").update(bytes).digest("hex");
  const copy = openSync(`${dirname(dirname(file))}.aside`, "w");
  writeSync(copy, bytes);
  fdatasyncSync(copy);
  closeSync(copy);
  writeFileSync(file, bytes);
}

function syncFile(file: string): void {
  const bytes = readFileSync(file);
  const target = openSync(file, "w");
  writeSync(target, bytes);
  fdatasyncSync(target);
  closeSync(target);
}

function timeSync(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Returns paths with a hundred files per directory. */
export function treePaths(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `d${Math.floor(at / 100)}/file-${at % 100}.txt`);
}

/** Makes the tree at the first use and removes it at the exit of the process. */
export function lazyTree(count: number): () => Promise<{ readonly root: string; readonly files: HostFilesystem }> {
  let cached: { readonly root: string; readonly files: HostFilesystem } | null = null;
  return async () => {
    cached ??= await makeTree(count);
    return cached;
  };
}

async function makeTree(count: number): Promise<{ readonly root: string; readonly files: HostFilesystem }> {
  const { file, clear } = newScratchFile();
  process.once("exit", clear);
  const root = join(dirname(file), "tree");
  for (const [at, path] of treePaths(count).entries()) {
    if (at % 100 === 0) mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `the content of ${path}`);
  }
  // A file that changed in the last two seconds is read at every scan, because its time could hide another change.
  await new Promise((resolve) => setTimeout(resolve, 2100));
  return { root, files: new HostFilesystem({ root }) };
}
