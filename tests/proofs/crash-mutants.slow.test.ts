import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { compiledPackage } from "../../crash/bundle-programs.ts";
import { CellRunner } from "../../crash/cell-runner.ts";
import { buildMutant, mutants, nonAtomicAppend, powerCutMutants, unfencedSqlite } from "../../crash/mutants.ts";
import { replayPrefixes } from "../../crash/replay-prefixes.ts";
import { selectCases, takesAllCases } from "../select-cases.ts";
import { evictFrom } from "../store/sqlite/evict-from.ts";

const runner = await CellRunner.create();

afterAll(() => runner.close());

describe("crash tests find the planted bug:", () => {
  it.concurrent.each(selectCases([...mutants, ...powerCutMutants], 4).map((mutant) => [mutant.bug, mutant] as const))(
    "%s",
    async (_, mutant) => {
      const { patches, cell, found } = mutant;
      const stuckMs = found === "stuck" ? 5000 : 30_000;
      const patched = await runner.withPatches({ program: "child", patches, stuckMs });
      const { findings } = await patched.run(cell);
      expect(findings.map(({ kind }) => kind)).toContain(found);
    },
  );

  it.concurrent("an append that is not written as a whole", async () => {
    const patched = await runner.withPatches({ program: "replayer", patches: nonAtomicAppend, stuckMs: 5000 });
    const { findings } = await replayPrefixes(patched, "opaque", null, takesAllCases ? 5 : 25);
    expect(findings.flatMap((each) => each.findings.map(({ kind }) => kind))).toContain("untrue");
  });

  it.concurrent("a store without the epoch condition breaks the contract", async () => {
    const late = "rejects the late outcome of a worker whose run was claimed again, and writes nothing";
    expect(await isBroken(compiledPackage, late)).toBe(false);
    expect(await isBroken(buildMutant(runner.folder, unfencedSqlite), late)).toBe(true);
  });
});

/** True if the SQLite store of a built package breaks this rule of the store contract. */
async function isBroken(built: string, title: string): Promise<boolean> {
  const { sqlite } = (await load(built, "sqlite.js")) as typeof import("../../src/sqlite.ts");
  const contract = await load(built, "testing/store-contract/store-contract.js");
  const { storeContract } = contract as typeof import("../../src/testing/store-contract/store-contract.ts");
  const folder = mkdtempSync(join(runner.folder, "contract-"));
  const file = join(folder, "writ.db");
  const laws = storeContract(
    async (setting) => sqlite(file, setting),
    async (_store, worker) => evictFrom(file, worker),
  );
  const law = laws.find((each) => each.title === title);
  if (law === undefined) throw new Error(`the store contract has no such rule: ${title}`);
  return law.check().then(
    () => false,
    () => true,
  );
}

function load(built: string, file: string): Promise<unknown> {
  return import(pathToFileURL(join(built, file)).href);
}
