import { describe, it } from "vitest";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import { storeContract } from "../src/testing/store-contract.ts";

describe("the memory store", () => {
  for (const { title, check } of storeContract(async (setting) => memoryStore(setting))) it(title, check);
});
