import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { apiReport } from "./api-report.ts";
import { repositoryPath } from "./repository-path.ts";

const { exports } = JSON.parse(readFileSync(repositoryPath("package.json"), "utf8")) as {
  exports: Record<string, unknown>;
};
const entryPoints = Object.keys(exports)
  .filter((entryPoint) => entryPoint !== "./package.json")
  .map((entryPoint) => (entryPoint === "." ? "index" : entryPoint.slice(2)));

describe("public API", () => {
  // A changed signature changes a file that a person reviews. `npx vitest run -u` writes the file again.
  it.each(entryPoints)("of entry point %s equals api/*.api.md", async (entryPoint) => {
    await expect(apiReport(repositoryPath("dist"), entryPoint)).toMatchFileSnapshot(
      repositoryPath("api", `${entryPoint}.api.md`),
    );
  });
});
