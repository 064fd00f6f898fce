import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { selectCases } from "../select-cases.ts";
import { emptyTestDatabase } from "../store/postgres/test-database.ts";
import { lacksClaudeSdk } from "./claude-sdk-folder.ts";
import { documentedCommands } from "./documented-commands.ts";
import { PackedPackage } from "./packed-package.ts";
import { repositoryPath } from "./repository-path.ts";
import { runTwice } from "./run-twice.ts";

const packed = new PackedPackage();
afterAll(() => packed.clear());

const guides = readdirSync(repositoryPath("docs", "guides")).map((name) => join("docs", "guides", name));
const pages = ["README.md", ...selectCases(guides, 5)]
  .map((page) => [page, documentedCommands(readFileSync(repositoryPath(page), "utf8"))] as const)
  .map(
    ([page, told]) =>
      [page, told.filter((one) => one.kind === "program").filter(({ text }) => !lacksClaudeSdk(text))] as const,
  )
  .filter(([, programs]) => programs.length > 0);

describe.each(pages)("the programs of %s, bundled by esbuild", (page, programs) => {
  const folder = newFolder(page.replaceAll(/\W/g, "-"));

  it.each(programs.map((program) => [program.name, program] as const))("%s", (_, program) => {
    runTwice(packed, folder, program, (name) => bundle(folder, name, "esm"));
  });
});

describe("a bundle without the files of the package", () => {
  it.each(["esm", "cjs"] as const)("opens a new SQLite store in the format %s", (format) => {
    const folder = newFolder(`sqlite-${format}`);
    writeFileSync(join(folder, "open.mjs"), sqliteProgram);
    expectOutput(folder, bundle(folder, "open.mjs", format), "opened\n");
  });

  describe("on Postgres", () => {
    const database = emptyTestDatabase();

    it.each(["esm", "cjs"] as const)("migrates, and renews leases by a thread, in the format %s", (format) => {
      const folder = newFolder(`postgres-${format}`);
      const urls = `const urls = ${JSON.stringify({ owner: database.ownerUrl, app: database.url })};`;
      writeFileSync(join(folder, "worker.mjs"), `${urls}\n${postgresProgram}`);
      expectOutput(folder, bundle(folder, "worker.mjs", format), "succeeded\n");
    });
  });

  it("names the package that a store needs if it is missing", () => {
    const folder = newFolder("missing");
    writeFileSync(join(folder, "open.mjs"), postgresProgram.replaceAll(/urls\.\w+/g, `"postgres://nowhere/"`));
    const alone = join(packed.folder, "..", `writ-alone-${process.pid}.mjs`);
    bundle(folder, "open.mjs", "esm", alone);
    const { stderr } = packed.runIn(folder, process.execPath, alone);
    rmSync(alone);
    expect(stderr).toContain("the Postgres store needs the package pg; run: npm install pg");
  });
});

const sqliteProgram = `
import { createEngine } from "writ";
import { sqlite } from "writ/sqlite";
async function main() {
  const engine = await createEngine({ store: sqlite("writ.db"), tools: [] });
  await engine.close();
  console.log("opened");
}
main();
`;

/** The call takes longer than a lease. A warning, such as that the thread has ended, would be printed to stderr. */
const postgresProgram = `
import { agent, createEngine, defineTool } from "writ";
import { migrate, postgres } from "writ/postgres";
async function main() {
  await migrate(urls.owner, { grant: new URL(urls.app).username });
  const run = () => new Promise((answer) => setTimeout(answer, 1500, "read"));
  const slow = defineTool({ name: "slow", effect: "reads", input: { type: "object" }, output: { type: "string" }, run });
  const engine = await createEngine({ store: postgres(urls.app, { leaseMs: 1000 }), tools: [slow] });
  const { step } = await engine.call(slow, {}, { principal: agent("a", "t") });
  console.log(step.state);
  await engine.close();
}
main();
`;

function newFolder(name: string): string {
  const folder = join(packed.folder, name);
  mkdirSync(folder);
  return folder;
}

/** Bundles a program of the folder. Returns the path of the bundle, by default beside the program. */
function bundle(folder: string, name: string, format: "esm" | "cjs", to?: string): string {
  const out = to ?? join(folder, "bundle", name.replace(/\.mjs$/, format === "esm" ? ".mjs" : ".cjs"));
  const esbuild = repositoryPath("node_modules", "esbuild", "bin", "esbuild");
  // These SDKs call require, which does not exist in the format esm.
  const beside = ["@opentelemetry/*", "@modelcontextprotocol/*", "@anthropic-ai/claude-agent-sdk", "ai"].map(
    (name) => `--external:${name}`,
  );
  const options = [
    "--bundle",
    "--platform=node",
    `--format=${format}`,
    ...beside,
    "--log-level=error",
    `--outfile=${out}`,
  ];
  expect(packed.runIn(folder, esbuild, name, ...options)).toEqual({ status: 0, stdout: "", stderr: "" });
  return out;
}

function expectOutput(folder: string, program: string, stdout: string): void {
  expect(packed.runIn(folder, process.execPath, program)).toEqual({ status: 0, stdout, stderr: "" });
}
