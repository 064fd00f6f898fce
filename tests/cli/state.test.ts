import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repositoryPath } from "../repo/repository-path.ts";
import { runCli } from "./run-cli.ts";

const source = repositoryPath("src", "index.ts");

const config = `
import { defineSlice } from ${JSON.stringify(source)};
export default { tools: [], slices: [defineSlice({ name: "beds", shape: "map", entry: { type: "string" } })] };
`;

const write = (step_id: string, value: string, ...depends_on: readonly string[]) => ({
  step_id,
  kind: "state_write",
  payload: { path: "/beds/north", value },
  depends_on,
});

let cwd: string;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), "writ-cli-"));
  writeFileSync(join(cwd, "writ.config.mjs"), config);
  writeFileSync(join(cwd, "bad.config.mjs"), "export default { tools: [], slices: [{}] };");
  writeFileSync(join(cwd, "plan.json"), JSON.stringify({ steps: [write("a", "beans"), write("b", "peas", "a")] }));
  expect(await runCli(cwd, "run", "plan.json", "--project", "garden")).toMatchObject({ exit: 0 });
});

afterAll(() => rmSync(cwd, { recursive: true }));

const slices = (entry: string) => ({ beds: { version: "1", shape: "map", entries: { north: entry } } });

describe("writ state", () => {
  it("prints the state of a project, now and at a version, without a config", async () => {
    const now = await runCli(cwd, "state", "garden", "--json", "--store", "writ.db");
    expect(JSON.parse(now.out)).toMatchObject({ project: "garden", version: 2, slices: slices("peas") });
    const then = await runCli(cwd, "state", "garden", "--as-of", "1", "--json");
    expect(JSON.parse(then.out)).toMatchObject({ version: 1, slices: slices("beans") });
    expect((await runCli(cwd, "state", "garden")).out).toMatch(/^version 2, \S+ \S+ UTC\nbeds\n {2}north {2}"peas"\n$/);
  });

  it("prints the state at a time", async () => {
    const { exit, out } = await runCli(cwd, "state", "garden", "--as-of", "2001-01-01T00:00:00Z");
    expect({ exit, out }).toEqual({ exit: 0, out: "nothing has been written yet\n" });
    expect(JSON.parse((await runCli(cwd, "state", "garden", "--as-of", "2999-01-01", "--json")).out)).toMatchObject({
      version: 2,
    });
  });

  it.each([
    [["state"], 2],
    [["state", "garden", "--run", "run_1"], 2],
    [["state", "garden", "--as-of", "yesterday"], 2],
    [["state", "garden", "--as-of", "3"], 5],
    [["run", "plan.json", "--config", "bad.config.mjs"], 2],
  ])("refuses %j with %i", async (words, exit) => {
    expect(await runCli(cwd, ...words)).toMatchObject({ exit });
  });
});
