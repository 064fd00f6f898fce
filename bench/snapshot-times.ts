import type { Engine } from "../src/engine/api/engine-api.ts";
import { createEngine } from "../src/engine/engine.ts";
import type { Filesystem } from "../src/resources/filesystem-handle.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { lazyTree, treePaths } from "./filesystem-times.ts";
import { type Measurement, measurePair } from "./measurement.ts";
import { sampleMedian } from "./samples.ts";
import { newScratchFile } from "./scratch-file.ts";
import { benchPrincipal } from "./workload.ts";

const cells = defineSlice({ name: "cells", shape: "map", entry: { type: "object" } });
const at = { principal: benchPrincipal, project: "sheet" };
const person = { principal: { id: "ana", kind: "person", tenant: "bench" } } as const;

/** Entries are written in calls of this size. */
const entriesPerCall = 10_000;
const tries = 9;

interface Size {
  readonly entries: number;
  readonly files: number;
}

/** Measures a composite snapshot after one change of state and one of a file, relative to a small state and tree. */
export function snapshotTime(id: string, part: "take" | "restore", large: Size, small: Size): Measurement {
  const [largeEngine, smallEngine] = [lazyEngine(large), lazyEngine(small)];
  const time = async (engine: Engine) => (await timeChange(engine))[part];
  return {
    id,
    about: `a snapshot of ${large.entries} entries and ${large.files} files, after one entry and one file changed: ${part}`,
    limitAbout: `the same with ${small.entries} entries and ${small.files} files`,
    unit: "ms",
    goal: { of: "ratio", atMost: 2 },
    round: async (order) => {
      const [one, other] = [await largeEngine(), await smallEngine()];
      return measurePair(order, {
        engine: () => sampleMedian(tries, () => time(one)),
        limit: () => sampleMedian(tries, () => time(other)),
      });
    },
  };
}

let changes = 0;

/** Takes a snapshot after a change, changes both once more, and restores it. */
async function timeChange(engine: Engine): Promise<{ readonly take: number; readonly restore: number }> {
  changes += 1;
  await engine.call("change", { n: changes }, at);
  const start = performance.now();
  const { snapshot_id } = await engine.checkpoints.take(at);
  const taken = performance.now();
  await engine.call("change", { n: -changes }, at);
  const changed = performance.now();
  await engine.checkpoints.restore(snapshot_id, person);
  return { take: taken - start, restore: performance.now() - changed };
}

/** Opens the engine at its first use; its files are removed at the exit of the process. */
function lazyEngine(size: Size): () => Promise<Engine> {
  let cached: Promise<Engine> | null = null;
  const tree = lazyTree(size.files);
  const open = async () => {
    const { files } = await tree();
    const { file, clear } = newScratchFile();
    process.once("exit", clear);
    const tenants = { bench: { mode: "auto_exec" } } as const;
    const engine = await createEngine({
      store: openSqlite(file),
      tools,
      slices: [cells],
      resources: { files },
      tenants,
    });
    for (let from = 0; from < size.entries; from += entriesPerCall)
      await engine.call("fill", { from, to: Math.min(size.entries, from + entriesPerCall) }, at);
    return engine;
  };
  return () => {
    cached ??= open();
    return cached;
  };
}

const fill = defineTool({
  name: "fill",
  effect: "writes",
  input: { type: "object" },
  output: { type: "object" },
  run: async (input, { slice }) => {
    const { from, to } = input as { readonly from: number; readonly to: number };
    for (let n = from; n < to; n += 1) slice(cells).set(`cell ${n}`, { n, text: `the text of cell ${n}` });
    return {};
  },
});

const change = defineTool({
  name: "change",
  effect: "writes",
  input: { type: "object" },
  output: { type: "object" },
  resources: { files: "handle" },
  run: async (input, { slice, resource }) => {
    const { n } = input as { readonly n: number };
    slice(cells).set("cell 7", { n, text: "changed" });
    await resource<Filesystem>("files").write(treePaths(1)[0] as string, `changed ${n}`);
    return {};
  },
});

const tools = [fill, change];
