import { afterAll, describe, expect, it } from "vitest";
import { type Disk, realDisk } from "../../src/resources/host/disk.ts";
import { features } from "../fidelity/features.ts";
import { type Trial, tried } from "../fidelity/trial.ts";

const trials: Trial[] = [];

afterAll(() => {
  const width = Math.max(...features.map(({ name }) => name.length));
  const lines = trials.map(
    ({ feature, found }, at) => `${String(at + 1).padStart(2)}  ${feature.padEnd(width)}  ${found}`,
  );
  console.log(`What a file system can hold, and what becomes of it:\n${lines.join("\n")}`);
});

describe("what a file system can hold", () => {
  it("is 32 things by name", () => {
    expect(new Set(features.map(({ name }) => name)).size).toBe(32);
  });

  it.each(features.map((feature) => [feature.name, feature] as const))(
    "is restored, or refused before the tool is called: %s",
    { timeout: 300_000 },
    async (_, feature) => {
      const trial = await tried(feature);
      trials.push(trial);
      expect(trial.found).toBe(feature.promise);
    },
  );
});

describe("a restorer that leaves something out", () => {
  const without = (missing: Partial<Disk>): Disk => ({ ...realDisk, ...missing });
  const named = (part: string) => features.filter(({ name }) => name.includes(part));

  it.each([
    ["modes", { chmodSync: () => {} }, "executable"],
    ["modes", { chmodSync: () => {} }, "setuid"],
    ["times", { utimesSync: () => {} }, "microsecond"],
    ["empty directories", { mkdirSync: realMkdir }, "empty directory"],
  ])("is caught: without %s", async (_, missing, part) => {
    for (const feature of named(part)) {
      const { found } = await tried(feature, without(missing as Partial<Disk>));
      expect(found).not.toBe("restored");
    }
    expect(named(part)).toHaveLength(1);
  });
});

/** Makes no directory below the tree. */
function realMkdir(...args: Parameters<Disk["mkdirSync"]>): string | undefined {
  return String(args[0]).startsWith("/proc/") ? undefined : (realDisk.mkdirSync(...args) as string | undefined);
}
