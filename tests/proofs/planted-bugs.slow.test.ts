import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { plantedSqliteBugs } from "../../chaos/planted-sqlite-bugs.ts";
import { unfencedPostgres } from "../../chaos/unfenced-postgres.ts";
import { packageRoot } from "../../crash/bundle-programs.ts";
import { mutants, nonAtomicAppend, powerCutMutants, unfencedSqlite } from "../../crash/mutants.ts";
import { editsOf } from "../../sim/planted/plant-bug.ts";
import { plantedBugs } from "../../sim/planted/planted-bugs.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-planted-"));
const compiled = join(folder, "src");

/** Compiles `src` exactly as the simulator does, without checking types. */
function compile(): void {
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  const args = [tsc, "--project", join(packageRoot, "tsconfig.sim.json"), "--outDir", folder, "--noCheck"];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(stdout);
}

interface Replacement {
  readonly file: string;
  readonly text: string;
}

/** Returns a line for each replacement whose text does not occur exactly once in its file. */
function misses(name: string, replacements: readonly Replacement[]): readonly string[] {
  return replacements.flatMap(({ file, text }) => {
    const path = join(compiled, file);
    if (!existsSync(path)) return [`${name}: no file ${file}`];
    const times = readFileSync(path, "utf8").split(text).length - 1;
    return times === 1 ? [] : [`${name}: ${file} has ${times} × ${JSON.stringify(text)}`];
  });
}

const patchesOf = (patches: readonly { readonly file: string; readonly from: string }[]): readonly Replacement[] =>
  patches.map(({ file, from }) => ({ file, text: from }));

beforeAll(compile);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the text that a bug replaces occurs exactly once in the compiled engine:", () => {
  it("bugs planted for the simulator", () => {
    const found = plantedBugs.flatMap((bug) =>
      misses(
        bug.name,
        editsOf(bug).map(({ file, find }) => ({ file, text: find })),
      ),
    );
    expect(found).toEqual([]);
  });

  it("mutants of the crash tests", () => {
    const found = [
      ...[...mutants, ...powerCutMutants].flatMap(({ bug, patches }) => misses(bug, patchesOf(patches))),
      ...misses("an append is not written as a whole", patchesOf(nonAtomicAppend)),
      ...misses("a store without the epoch condition", patchesOf(unfencedSqlite)),
    ];
    expect(found).toEqual([]);
  });

  it("mutants of the chaos tests", () => {
    const found = [
      ...misses("a server without the epoch condition", patchesOf(unfencedPostgres(compiled))),
      ...plantedSqliteBugs.flatMap(({ bug, patches }) => misses(bug, patchesOf(patches))),
    ];
    expect(found).toEqual([]);
  });
});
