import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { writVersion } from "../../src/core/values/writ-version.ts";
import { repositoryPath } from "../repo/repository-path.ts";

/** Prints the address of every module that is loaded. */
const printLoads = `
import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent(\`
import { writeSync } from "node:fs";
export async function load(url, context, next) {
  writeSync(2, "loaded " + url + "\\\\n");
  return next(url, context);
}\`));
`;

/** Runs the built command line, and returns its output and the names of the files that it loads. */
function runCli(...args: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "writ-start-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const hook = join(folder, "hook.mjs");
  writeFileSync(hook, printLoads);
  const index = pathToFileURL(repositoryPath("dist/index.js")).href;
  const tool = `{ name: "a", effect: "reads", input: any, output: any, run: async () => ({}) }`;
  writeFileSync(
    join(folder, "writ.config.mjs"),
    `import { defineTool } from "${index}";\nconst any = { type: "object" };\nexport default { tools: [defineTool(${tool})] };\n`,
  );
  writeFileSync(join(folder, "plan.json"), JSON.stringify({ steps: [{ step_id: "a", name: "a", payload: {} }] }));
  const program = ["--import", pathToFileURL(hook).href, repositoryPath("dist/cli.js"), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, program, { cwd: folder, encoding: "utf8" });
  const loaded = [...stderr.matchAll(/^loaded (\S+)$/gm)].map(([, url = ""]) => url);
  return { status, stdout, loaded: loaded.filter((url) => url.startsWith("file:")) };
}

describe("the built command line", () => {
  it("prints its version without loading the program", () => {
    const { status, stdout, loaded } = runCli("--version");
    expect([status, stdout]).toEqual([0, `${writVersion}\n`]);
    expect(loaded.map((url) => url.split("/").at(-1))).toEqual(["cli.js", "version.js"]);
  });

  it("runs a plan without conditions without the parser of conditions, other commands and other stores", () => {
    const { status, loaded } = runCli("run", "plan.json");
    expect(status).toBe(0);
    expect(loaded.filter((url) => /cel-js|postgres|crashtest|worker\.js|policy\.js/.test(url))).toEqual([]);
    expect(loaded.length).toBeLessThan(30);
  });
});
