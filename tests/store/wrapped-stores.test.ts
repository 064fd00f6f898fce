import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { LineAppender, recordStore } from "../../chaos/record-store.ts";
import { Killer, withKillPoints } from "../../crash/killer.ts";
import { countingStore, StoreOperationCounters } from "../../src/cli/store-operation-counters.ts";
import { loggingStore } from "../../src/cli/worker-log.ts";
import type { Store } from "../../src/core/store/store.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { storeContract } from "../../src/testing/store-contract/store-contract.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-wrapped-"));
const appender = new LineAppender(join(folder, "history"));

afterAll(() => {
  appender.close();
  rmSync(folder, { recursive: true });
});

// A wrapper must pass on every argument: a wrapper that dropped the offers of a worker kept it from delivering notices.
describe.each<{ name: string; wrap: (store: Store) => Store }>([
  { name: "records calls", wrap: (store) => recordStore(store, appender, "ana") },
  { name: "has kill points", wrap: (store) => withKillPoints(store, new Killer(null)) },
  { name: "logs runs", wrap: (store) => loggingStore(store, () => {}) },
  { name: "counts calls", wrap: (store) => countingStore(store, new StoreOperationCounters()) },
])("wrapped store that $name", ({ wrap }) => {
  for (const { title, check } of storeContract(async (setting) => wrap(memoryStore(setting)))) it(title, check);
});
