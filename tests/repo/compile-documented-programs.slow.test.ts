import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { selectCases } from "../select-cases.ts";
import { lacksClaudeSdk } from "./claude-sdk-folder.ts";
import { documentedCommands } from "./documented-commands.ts";
import { PackedPackage } from "./packed-package.ts";
import { repositoryPath, repositoryRoot } from "./repository-path.ts";

const packed = new PackedPackage();
afterAll(() => packed.clear());

const compilers = selectCases(["typescript", "typescript-5"], 2).map((name) => {
  const { version } = JSON.parse(readFileSync(repositoryPath("node_modules", name, "package.json"), "utf8")) as {
    version: string;
  };
  return [version, repositoryPath("node_modules", name, "bin", "tsc")] as const;
});

describe.each(compilers)("TypeScript %s", (_, compiler) => {
  it("compiles every program of the README and the guides as a strict module", () => {
    writePrograms();
    const strict = { strict: true, noEmit: true, target: "es2022", module: "nodenext", types: ["node"] };
    expect(compile(compiler, { compilerOptions: strict, include: ["programs"] })).toEqual({ status: 0, stdout: "" });
  });

  it("compiles the tests of types", () => {
    const config = {
      extends: repositoryPath("tsconfig.json"),
      compilerOptions: { rootDir: repositoryRoot, typeRoots: [repositoryPath("node_modules", "@types")] },
      include: [repositoryPath("tests", "**", "*.types.ts")],
    };
    expect(compile(compiler, config)).toEqual({ status: 0, stdout: "" });
  });
});

/** Programs in JavaScript that read results without checking each field. They run in other tests. */
const plainPrograms: ReadonlySet<string> = new Set([
  "counter.mjs",
  "dinner.mjs",
  "issues.mjs",
  "journey.mjs",
  "outreach.mjs",
]);

function writePrograms(): void {
  const guides = readdirSync(repositoryPath("docs", "guides")).map((name) => join("docs", "guides", name));
  for (const page of ["README.md", join("skills", "writ", "SKILL.md"), ...guides]) {
    const folder = join(packed.folder, "programs", page.replaceAll(/\W/g, "-"));
    mkdirSync(folder, { recursive: true });
    for (const command of documentedCommands(readFileSync(repositoryPath(page), "utf8")))
      if (command.kind === "program" && !lacksClaudeSdk(command.text) && !plainPrograms.has(command.name))
        writeFileSync(join(folder, command.name.replace(/\.mjs$/, ".mts")), command.text);
  }
}

function compile(compiler: string, config: object): { readonly status: number | null; readonly stdout: string } {
  const name = "tsconfig.json";
  writeFileSync(join(packed.folder, name), JSON.stringify(config));
  const { status, stdout } = packed.node(compiler, "--project", name);
  return { status, stdout };
}
