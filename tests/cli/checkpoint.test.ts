import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { repositoryPath } from "../repo/repository-path.ts";
import { runCli } from "./run-cli.ts";

let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "writ-cli-"));
  mkdirSync(join(cwd, "tree"));
  writeFileSync(join(cwd, "tree", "a.txt"), "one");
  writeFileSync(join(cwd, "writ.config.mjs"), config);
  const steps = [{ step_id: "edit", name: "edit", payload: { text: "two" } }];
  writeFileSync(join(cwd, "plan.json"), JSON.stringify({ steps }));
});

afterEach(() => rmSync(cwd, { recursive: true }));

const config = `
import { defineTool } from ${JSON.stringify(repositoryPath("src", "index.ts"))};
import { HostFilesystem } from ${JSON.stringify(repositoryPath("src", "files.ts"))};
import { fileURLToPath } from "node:url";

const edit = defineTool({
  name: "edit", effect: "writes", resources: { files: "handle" },
  input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] }, output: { type: "object" },
  run: async ({ text }, context) => {
    await context.resource("files").write("a.txt", text);
    return {};
  },
});
export default { tools: [edit], resources: { files: new HostFilesystem({ root: fileURLToPath(new URL("tree", import.meta.url)) }) } };
`;

const tree = () => readFileSync(join(cwd, "tree", "a.txt"), "utf8");

describe("writ checkpoint", () => {
  it("lists a call that changed files, compares, restores and forks", async () => {
    const { run_id } = JSON.parse((await runCli(cwd, "run", "plan.json", "--json")).out);
    expect(tree()).toBe("two");
    const listed = await runCli(cwd, "checkpoint", "list", run_id);
    expect(listed.out).toMatch(new RegExp(`^${run_id}/edit .* edit .* 1 files\n`));
    const diff = await runCli(cwd, "checkpoint", "diff", `${run_id}/edit/before`);
    expect(diff).toMatchObject({ exit: 0, out: "files: a.txt changed\n" });
    const restored = await runCli(cwd, "checkpoint", "restore", `${run_id}/edit/before`, "--reason", "wrong text");
    expect(restored).toMatchObject({ exit: 0, out: expect.stringContaining("files: 1 restored, 0 created again") });
    expect(tree()).toBe("one");
    const fork = await runCli(cwd, "checkpoint", "fork", `${run_id}/edit/before`, "--files", "leave", "--json");
    expect(JSON.parse(fork.out)).toMatchObject({ status: "completed" });
    expect([fork.exit, tree()]).toEqual([0, "two"]);
  });

  it("refuses a checkpoint without its side, and a list of nothing", async () => {
    expect((await runCli(cwd, "checkpoint", "restore", "run_1/edit")).exit).toBe(2);
    expect((await runCli(cwd, "checkpoint", "list")).exit).toBe(2);
    expect((await runCli(cwd, "checkpoint", "restore", "run_1/a/before", "run_1/a/after")).exit).toBe(2);
  });
});
