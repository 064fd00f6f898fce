import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { compiledPackage, packageRoot } from "../../crash/bundle-programs.ts";
import type { CellRunner } from "../../crash/cell-runner.ts";

/** Makes a package `writ` in a folder: the built package with kill points. It records the points that a process passes. */
export function writePackageWithKillPoints(runner: CellRunner, home: string): void {
  const writ = join(home, "node_modules/writ");
  mkdirSync(writ, { recursive: true });
  symlinkSync(join(packageRoot, "node_modules/zod"), join(home, "node_modules/zod"));
  const killer = urlOf(runner.program("killer"));
  for (const [file, text] of Object.entries(packageFiles(killer))) writeFileSync(join(writ, file), text);
}

const urlOf = (...path: readonly string[]): string => JSON.stringify(pathToFileURL(join(...path)).href);

const packageFiles = (killer: string) => ({
  "package.json": JSON.stringify({
    name: "writ",
    type: "module",
    exports: { ".": "./index.js", "./sqlite": "./sqlite.js" },
  }),
  "killer.js": `
    import { writeFileSync } from "node:fs";
    import { Killer } from ${killer};
    export const killer = new Killer(JSON.parse(process.env.WRIT_CRASH_KILL));
    process.on("exit", () => writeFileSync("passed.json", JSON.stringify(killer.passed)));`,
  "index.js": `
    import { createEngine as real } from ${urlOf(compiledPackage, "index.js")};
    import { killer } from "./killer.js";
    export * from ${urlOf(compiledPackage, "index.js")};
    export const createEngine = (options) => real({ ...options, failpoint: killer.at });`,
  "sqlite.js": `
    import { sqlite as real } from ${urlOf(compiledPackage, "sqlite.js")};
    import { withKillPoints } from ${killer};
    import { killer } from "./killer.js";
    export const sqlite = async (file) => withKillPoints(await real(file), killer);`,
});
