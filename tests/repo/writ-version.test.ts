import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { writVersion } from "../../src/core/values/writ-version.ts";
import { repositoryPath } from "./repository-path.ts";

it("the version in the code is the version of the package", () => {
  const { version } = JSON.parse(readFileSync(repositoryPath("package.json"), "utf8")) as { readonly version: string };
  expect(writVersion).toBe(version);
});
