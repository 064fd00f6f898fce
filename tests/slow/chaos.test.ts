import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { unfenced } from "../../chaos/mutants.ts";
import { complaints, figuresOf } from "../../chaos/report.ts";
import { storm } from "../../chaos/storm.ts";
import { brief, fainting } from "../../chaos/weather.ts";
import { infected } from "../../crash/mutants.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-chaos-test-"));
const quietly = { seed: 1, say: () => {} };

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("many workers on one Postgres, while they, it and the network are struck", () => {
  it("do nothing twice, lose nothing and come to their end", async () => {
    const wreckage = await storm({ ...brief, ...quietly });
    console.log(JSON.stringify(figuresOf(wreckage)));
    expect(complaints(wreckage)).toEqual([]);
  }, 240_000);

  it("are found out when no write asks for the epoch", async () => {
    const dist = infected(folder, unfenced);
    const wreckage = await storm({ ...fainting, ...quietly, dist });
    const { duplicates, violations } = figuresOf(wreckage);
    expect(duplicates + violations).toBeGreaterThan(0);
  }, 240_000);
});
