import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { Pen, recorded } from "../chaos/recorder.ts";
import { deadly, Killer } from "../crash/killer.ts";
import { Meters, metered } from "../src/cli/metered-store.ts";
import type { Store } from "../src/core/store.ts";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import { storeContract } from "../src/testing/store-contract.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-wrapped-"));
const pen = new Pen(join(folder, "history"));

afterAll(() => {
  pen.close();
  rmSync(folder, { recursive: true });
});

// What one of them does not pass on, nobody behind it can do: a worker that offered to take notices was given none.
describe.each<{ name: string; around: (store: Store) => Store }>([
  { name: "is noted down", around: (store) => recorded(store, pen, "ana") },
  { name: "can be deadly", around: (store) => deadly(store, new Killer(null)) },
  { name: "is counted", around: (store) => metered(store, new Meters()) },
])("a store of which everything $name", ({ around }) => {
  for (const { title, check } of storeContract(async (setting) => around(memoryStore(setting)))) it(title, check);
});
