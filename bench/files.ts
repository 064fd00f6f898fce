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
import type { Access, Capture } from "../src/core/resource.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { MemoryFilesystem } from "../src/resources/memory-filesystem.ts";
import { type Measurement, type Order, sideBySide } from "./measurement.ts";
import { medianOf } from "./samples.ts";
import { scratch } from "./scratch.ts";

const tries = 15;

/** Undoing one change among many files in memory. */
export function memoryRollback(id: string, count: number): Measurement {
  let made: MemoryFilesystem | null = null;
  return {
    id,
    about: `one changed file among ${count} in memory: putting it back`,
    beside: "forgetting a version: setting one field",
    unit: "µs",
    goal: { of: "value", atMost: 10 },
    round: async (order) => {
      made ??= new MemoryFilesystem({ files: Object.fromEntries(places(count).map((path) => [path, path])) });
      const files = made;
      const kept = { tree: {} };
      return sideBySide(order, {
        engine: () => medianOf(tries, async () => 1000 * (await rolledBack(files))),
        limit: () => medianOf(tries, async () => 1000 * timedNow(() => Object.assign(kept, { tree: {} }))),
      });
    },
  };
}

async function rolledBack(files: MemoryFilesystem): Promise<number> {
  const capture = await files.capture("bench", "handle");
  await (await files.open(capture)).write(places(1)[0] as string, "changed");
  const start = performance.now();
  await files.restore(capture);
  const took = performance.now() - start;
  await files.release(capture);
  return took;
}

/** One file changed through the handle: how long it takes to be able to put it back, and to do so. */
export function handleTime(id: string, part: "capture" | "restore", count: number): Measurement {
  const tree = lazyTree(count);
  const limit = part === "capture" ? keptBytes : writtenBack;
  return {
    id,
    about: `one file changed through the handle, in a tree of ${count}: ${part === "capture" ? "capture and first write" : "restore"}`,
    beside:
      part === "capture"
        ? "reading it, its SHA-256, writing the bytes aside, one fdatasync, and writing the file"
        : "writing the bytes back, and one fdatasync",
    unit: "ms",
    goal: { of: "value", atMost: 0.5 },
    round: async (order: Order) => {
      const { root, files } = await tree();
      const file = join(root, places(1)[0] as string);
      return sideBySide(order, {
        engine: () => medianOf(tries, async () => (await handleCall(files))[part]),
        limit: () => medianOf(tries, async () => timedNow(() => limit(file))),
      });
    },
  };
}

async function handleCall(files: HostFilesystem): Promise<{ readonly capture: number; readonly restore: number }> {
  const start = performance.now();
  const capture = await files.capture("bench", "handle");
  await (await files.open(capture)).write(places(1)[0] as string, "changed");
  const captured = performance.now();
  await files.restore(capture);
  const restored = performance.now();
  await files.release(capture);
  return { capture: captured - start, restore: restored - captured };
}

/** One file changed past the handle: how long the looks at the whole tree take. */
export function walkTime(id: string, part: "snapshot" | "restore", count: number): Measurement {
  const tree = lazyTree(count);
  return {
    id,
    about: `one file changed past the handle, in a tree of ${count} that was seen before: ${part}`,
    beside: "one walk of the tree with readdir and lstat",
    unit: "ms",
    goal: { of: "ratio", atMost: 1.5 },
    round: async (order: Order) => {
      const { root, files } = await tree();
      return sideBySide(order, {
        engine: () => medianOf(5, async () => (await rawCall(files, root))[part]),
        limit: () => medianOf(5, async () => timedNow(() => walk(root))),
      });
    },
  };
}

async function rawCall(
  files: HostFilesystem,
  root: string,
): Promise<{ readonly snapshot: number; readonly restore: number }> {
  writeFileSync(join(root, places(2)[1] as string), `before ${performance.now()}`);
  const start = performance.now();
  const capture: Capture = await files.capture("bench", "raw" satisfies Access);
  const captured = performance.now();
  await files.open(capture);
  writeFileSync(join(root, places(1)[0] as string), `changed ${performance.now()}`);
  const opened = performance.now();
  await files.restore(capture);
  const restored = performance.now();
  await files.release(capture);
  return { snapshot: captured - start, restore: restored - opened };
}

function walk(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = `${folder}/${name}`;
    if (lstatSync(path).isDirectory()) walk(path);
  }
}

function keptBytes(file: string): void {
  const bytes = readFileSync(file);
  createHash("sha256").update(bytes).digest("hex");
  const aside = openSync(`${dirname(dirname(file))}.aside`, "w");
  writeSync(aside, bytes);
  fdatasyncSync(aside);
  closeSync(aside);
  writeFileSync(file, bytes);
}

function writtenBack(file: string): void {
  const bytes = readFileSync(file);
  const back = openSync(file, "w");
  writeSync(back, bytes);
  fdatasyncSync(back);
  closeSync(back);
}

function timedNow(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** A hundred files in each directory. */
function places(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `d${Math.floor(at / 100)}/file-${at % 100}.txt`);
}

/** Made when it is first needed, and gone with the process. It has been left alone for long, as trees mostly are. */
function lazyTree(count: number): () => Promise<{ readonly root: string; readonly files: HostFilesystem }> {
  let made: { readonly root: string; readonly files: HostFilesystem } | null = null;
  return async () => {
    made ??= await makeTree(count);
    return made;
  };
}

async function makeTree(count: number): Promise<{ readonly root: string; readonly files: HostFilesystem }> {
  const { file, clear } = scratch();
  process.once("exit", clear);
  const root = join(dirname(file), "tree");
  for (const [at, path] of places(count).entries()) {
    if (at % 100 === 0) mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `the content of ${path}`);
  }
  // What changed so lately is read again each time, as nobody could tell that it changed once more.
  await new Promise((resolve) => setTimeout(resolve, 2100));
  return { root, files: new HostFilesystem({ root }) };
}
