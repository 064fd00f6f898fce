import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { guardOf } from "../../chaos/guard.ts";
import { unfenced } from "../../chaos/mutants.ts";
import { complaints, figuresOf } from "../../chaos/report.ts";
import { storm } from "../../chaos/storm.ts";
import { brief, fainting } from "../../chaos/weather.ts";
import { infected } from "../../crash/mutants.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-chaos-test-"));
const quietly = { seed: 1, say: () => {} };

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the guard of all that is started", () => {
  it("kills what is left, also what was stopped, and removes its folder", async () => {
    const kept = mkdtempSync(join(folder, "kept-"));
    const guard = guardOf([kept]);
    const child = guard.keep(spawn("sleep", ["600"]));
    const ended = new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
    child.kill("SIGSTOP");
    await guard.end();
    expect(await ended).toBe("SIGKILL");
    expect(existsSync(kept)).toBe(false);
  });
});

describe("many workers on one Postgres, while they, it and the network are struck", () => {
  it("do nothing twice, lose nothing and come to their end", async () => {
    const wreckage = await storm({ ...brief, ...quietly });
    console.log(JSON.stringify(figuresOf(wreckage)));
    expect(complaints(wreckage)).toEqual([]);
  }, 400_000);

  it("are found out when no write asks for the epoch", async () => {
    const dist = infected(folder, unfenced());
    const wreckage = await storm({ ...fainting, ...quietly, dist });
    const { duplicates, violations } = figuresOf(wreckage);
    expect(duplicates + violations).toBeGreaterThan(0);
  }, 400_000);
});
