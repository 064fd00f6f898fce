import { afterAll, describe, expect, it } from "vitest";
import { type Disk, realDisk } from "../../src/resources/host/disk.ts";
import { takesAllCases } from "../select-cases.ts";
import { checkFeature, type FidelityResult } from "./fidelity-check.ts";
import { filesystemFeatures } from "./filesystem-features.ts";

const results: FidelityResult[] = [];

afterAll(() => {
  const width = Math.max(...filesystemFeatures.map(({ name }) => name.length));
  const lines = results.map(
    ({ feature, found }, at) => `${String(at + 1).padStart(2)}  ${feature.padEnd(width)}  ${found}`,
  );
  console.log(`Filesystem features and their results:\n${lines.join("\n")}`);
});

describe("filesystem features", () => {
  it("are 32 by name", () => {
    expect(new Set(filesystemFeatures.map(({ name }) => name)).size).toBe(32);
  });

  const chosen = filesystemFeatures.filter(({ name }) => takesAllCases || name !== "a hundred thousand files");

  it.each(chosen.map((feature) => [feature.name, feature] as const))(
    "are restored, or refused before the tool is called: %s",
    { timeout: 300_000 },
    async (_, feature) => {
      const result = await checkFeature(feature);
      results.push(result);
      expect(result.found).toBe(feature.promise);
    },
  );
});

describe("restore that omits a step", () => {
  const diskWithout = (missing: Partial<Disk>): Disk => ({ ...realDisk, ...missing });
  const featuresNamed = (part: string) => filesystemFeatures.filter(({ name }) => name.includes(part));

  it.each([
    ["modes", { chmodSync: () => {} }, "executable"],
    ["modes", { chmodSync: () => {} }, "setuid"],
    ["times", { utimesSync: () => {} }, "microsecond"],
    ["empty directories", { mkdirSync: mkdirOutsideTree }, "empty directory"],
  ])("is caught: without %s", async (_, missing, part) => {
    for (const feature of featuresNamed(part)) {
      const { found } = await checkFeature(feature, diskWithout(missing as Partial<Disk>));
      expect(found).not.toBe("restored");
    }
    expect(featuresNamed(part)).toHaveLength(1);
  });
});

/** Creates directories only outside the tree. */
function mkdirOutsideTree(...args: Parameters<Disk["mkdirSync"]>): string | undefined {
  return String(args[0]).startsWith("/proc/") ? undefined : (realDisk.mkdirSync(...args) as string | undefined);
}
