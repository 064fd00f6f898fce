import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repositoryPath } from "../repo/repository-path.ts";
import { runCli } from "./run-cli.ts";

const source = repositoryPath("src", "index.ts");

const config = `
import { createEngine, defineSlice, defineTool } from ${JSON.stringify(source)};
import { sqlite } from ${JSON.stringify(source.replace("index.ts", "sqlite.ts"))};
export const slices = [defineSlice({ name: "facts", shape: "map", entry: {} })];
const learn = defineTool({
  name: "learn", effect: "writes", input: { type: "object" }, output: {},
  run: async ({ key }, { slice }) => (slice(slices[0]).set(key, 1), {}),
});
export const fill = async () => {
  const engine = await createEngine({ store: sqlite(new URL("writ.db", import.meta.url).pathname), tools: [learn], slices });
  const principal = { id: "bot", kind: "agent", tenant: "default" };
  for (const key of ["a", "b/c"]) await engine.call("learn", { key }, { principal, project: "site" });
  await engine.close();
};
export default { tools: [learn], slices };
`;

let cwd: string;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), "writ-cli-"));
  writeFileSync(join(cwd, "writ.config.mjs"), config);
  await (await import(join(cwd, "writ.config.mjs"))).fill();
});

afterAll(() => rmSync(cwd, { recursive: true }));

const json = async (...args: readonly string[]) => {
  const { exit, out } = await runCli(cwd, "project", ...args, "--json");
  return { exit, ...JSON.parse(out) };
};

describe("writ project", () => {
  it("prints any version with the call that made it", async () => {
    expect(await json("show", "site")).toMatchObject({
      exit: 0,
      version: 2,
      closure: null,
      slices: { facts: { entries: { a: 1, "b/c": 1 } } },
    });
    expect(await json("show", "site", "--version-number", "1")).toMatchObject({
      slices: { facts: { entries: { a: 1 } } },
    });
    expect((await runCli(cwd, "project", "show", "site")).out).toMatch(
      /^project site, version 2 of \S+ \S+ UTC\n {2}\{/,
    );
    const { out } = await runCli(cwd, "project", "history", "site");
    expect(out.split("\n")[0]).toMatch(/^2 +\S+ \S+ UTC +bot +learn +run_\S+ call +\[/);
    expect((await json("history", "site", "--limit", "1")).versions).toHaveLength(1);
    expect((await runCli(cwd, "project", "history", "none")).out).toContain("nothing has been written to project none");
  });

  it("reverts to a version, and refuses while the project is locked", async () => {
    expect((await runCli(cwd, "project", "lock", "site", "--reason", "audit")).out).toMatch(/^site is locked, by /);
    expect((await runCli(cwd, "project", "show", "site")).out).toContain("audit");
    expect(await json("revert", "site", "--version-number", "1")).toMatchObject({
      exit: 4,
      failed: [{ fault: { code: "PROJECT_LOCKED" } }],
    });
    expect(await json("archive", "site")).toMatchObject({ closure: { how: "archived" } });
    expect((await runCli(cwd, "project", "open", "site")).out).toMatch(/^site is open, by /);
    expect(await json("revert", "site", "--version-number", "1")).toMatchObject({ exit: 0, status: "completed" });
    expect(await json("show", "site")).toMatchObject({ version: 3, slices: { facts: { entries: { a: 1 } } } });
    expect((await runCli(cwd, "project", "revert", "site")).exit).toBe(2);
    expect((await runCli(cwd, "project", "open", "site")).exit).toBe(2);
  });
});
