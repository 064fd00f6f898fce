import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { problemAffectsResolutionKind } from "@arethetypeswrong/core/problems";
import { publint } from "publint";
import { afterAll, describe, expect, it } from "vitest";
import { entryPointNames, PackedPackage } from "./packed-package.ts";

const packed = new PackedPackage();
afterAll(() => packed.clear());

describe("published package", () => {
  it("passes publint, suggestions included", async () => {
    const tarball = packed.tarball.slice().buffer as ArrayBuffer;
    const { messages } = await publint({ pack: { tarball }, level: "suggestion" });
    expect(messages).toEqual([]);
  });

  // The package is ESM only: `require` returns the modules or an error of Node itself, not wrong types.
  it.each(["node16-esm", "bundler"] as const)(
    "has correct types for every entry point, resolved by %s",
    async (kind) => {
      const analysis = await checkPackage(createPackageFromTarballData(packed.tarball));
      if (analysis.types === false) throw new Error("the package has no types");
      expect(Object.keys(analysis.entrypoints)).toEqual(expect.arrayContaining([".", "./sqlite"]));
      expect(analysis.problems.filter((problem) => problemAffectsResolutionKind(problem, kind, analysis))).toEqual([]);
    },
  );

  it.each(["nodenext", "bundler"])("compiles in a strict project that checks its declarations, by %s", (resolution) => {
    const module = resolution === "bundler" ? "esnext" : "nodenext";
    const imports = entryPointNames().map((name, at) => `import * as door${at} from "${name}";`);
    const uses = entryPointNames().map((_, at) => `door${at}`);
    writeFileSync(join(packed.folder, "user.mts"), `${imports.join("\n")}\nexport default [${uses.join(", ")}];\n`);
    const options = ["--module", module, "--moduleResolution", resolution, "--target", "es2023", "--types", "node"];
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--skipLibCheck", "false"];
    const tsc = join("node_modules", "typescript", "bin", "tsc");
    expect(packed.node(tsc, ...options, ...strict, "user.mts")).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  it("has pages whose links point to files of the package", () => {
    const folder = join(packed.folder, "node_modules", "writ");
    const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
    expect(pages).toContain(join("docs", "guides", "first-tool.md"));
    const missing = pages.flatMap((page) =>
      [...readFileSync(join(folder, page), "utf8").matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .filter(([, target = ""]) => !existsSync(join(folder, dirname(page), target)))
        .map(([link]) => `${page}: ${link}`),
    );
    expect(missing).toEqual([]);
  });

  it("can be imported by its name", () => {
    expect(packed.runIn(packed.folder, "npx", "writ", "--version").stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("has entry points that load", () => {
    const code = entryPointNames().map((name) => `await import("${name}");`);
    expect(packed.node("--input-type=module", "-e", code.join("\n"))).toEqual({ status: 0, stdout: "", stderr: "" });
  });
});
