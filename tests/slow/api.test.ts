import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { apiReport } from "../api-report.ts";

const root = join(import.meta.dirname, "..", "..");
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, unknown>;
};
const doors = Object.keys(exports)
  .filter((door) => door !== "./package.json")
  .map((door) => (door === "." ? "index" : door.slice(2)));

describe("the public surface", () => {
  // A changed signature shows as a changed file that a person reads; `npx vitest run -u` writes it anew.
  it.each(doors)("of the door %s is the one on file", async (door) => {
    await expect(apiReport(join(root, "dist"), door)).toMatchFileSnapshot(`../../api/${door}.api.md`);
  });
});
