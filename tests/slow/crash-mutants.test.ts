import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { dist } from "../../crash/bundle.ts";
import { darkMutants, halfWritten, infected, mutants, unfenced } from "../../crash/mutants.ts";
import { replay } from "../../crash/replay.ts";
import { Stage } from "../../crash/stage.ts";

const stage = await Stage.raise();

afterAll(() => stage.strike());

describe("the proof finds the bug it is there for:", () => {
  it.concurrent.each([...mutants, ...darkMutants].map((mutant) => [mutant.bug, mutant] as const))(
    "%s",
    async (_, mutant) => {
      const { patches, cell, found } = mutant;
      const stuckMs = found === "stuck" ? 5000 : 30_000;
      const ill = await stage.ill({ program: "child", patches, stuckMs });
      const { findings } = await ill.run(cell);
      expect(findings.map(({ kind }) => kind)).toContain(found);
    },
  );

  it.concurrent("an append is not written as a whole", async () => {
    const ill = await stage.ill({ program: "replayer", patches: halfWritten, stuckMs: 5000 });
    const { findings } = await replay(ill, "opaque", null, 5);
    expect(findings.flatMap((each) => each.findings.map(({ kind }) => kind))).toContain("untrue");
  });

  it.concurrent("a store without the epoch condition breaks the contract", async () => {
    const late = "refuses the late outcome of a worker whose run was claimed again, and writes nothing of it";
    expect(await isBroken(dist, late)).toBe(false);
    expect(await isBroken(infected(stage.folder, unfenced), late)).toBe(true);
  });
});

/** Whether the SQLite store of a built package breaks a law of the contract. */
async function isBroken(built: string, title: string): Promise<boolean> {
  const { sqlite } = (await load(built, "sqlite.js")) as typeof import("../../src/sqlite.ts");
  const contract = await load(built, "testing/store-contract.js");
  const { storeContract } = contract as typeof import("../../src/testing/store-contract.ts");
  const folder = mkdtempSync(join(stage.folder, "contract-"));
  const laws = storeContract(async (setting) => sqlite(join(folder, "writ.db"), setting));
  const law = laws.find((each) => each.title === title);
  if (law === undefined) throw new Error(`the contract has no such law: ${title}`);
  return law.check().then(
    () => false,
    () => true,
  );
}

function load(built: string, file: string): Promise<unknown> {
  return import(pathToFileURL(join(built, file)).href);
}
