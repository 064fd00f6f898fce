import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

it("the schemas of the HTTP API are those of the types of the engine", () => {
  const script = repositoryPath("scripts/engine-schemas.js");
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(status).toBe(0);
});
