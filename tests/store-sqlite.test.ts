import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { storeContract } from "../src/testing/store-contract.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-sqlite-"));
let files = 0;
const newFile = (): string => join(folder, `${files++}.db`);

afterAll(() => rmSync(folder, { recursive: true }));

describe("the SQLite store", () => {
  for (const { title, check } of storeContract(async (setting) => sqlite(newFile(), setting))) it(title, check);
});
