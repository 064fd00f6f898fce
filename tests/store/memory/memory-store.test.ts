import { describe, it } from "vitest";
import { type MemoryStore, memoryStore } from "../../../src/store/memory/memory-store.ts";
import { type OpenStore, storeContract } from "../../../src/testing/store-contract/store-contract.ts";

describe("memory store", () => {
  for (const { title, check } of storeContract(async (setting) => memoryStore(setting))) it(title, check);
});

describe("memory store whose leases end by eviction", () => {
  const open: OpenStore = async (setting) => memoryStore({ ...setting, leasesEnd: "by_eviction" });
  for (const { title, check } of storeContract(open, async (store, worker) => (store as MemoryStore).evict(worker)))
    it(title, check);
});
