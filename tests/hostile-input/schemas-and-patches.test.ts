import { describe, expect, it } from "vitest";
import { hostilePatches, runHostilePatch } from "../../bench/hostile-patches.ts";
import { hostileSchemas, runHostileSchema } from "../../bench/hostile-schemas.ts";

/** `npm run hostile` measures the time of each; these tests check only the results. */
describe("hostile JSON Schemas", () => {
  it.each(hostileSchemas.map((hostile, at) => [at, hostile.about, hostile] as const))(
    "%i %s",
    (_at, _about, hostile) => {
      expect(runHostileSchema(hostile)).toBe(hostile.expected);
    },
  );
});

describe("hostile state patches", () => {
  it.each(hostilePatches.map((hostile, at) => [at, hostile.about, hostile] as const))(
    "%i %s",
    (_at, _about, hostile) => {
      expect(runHostilePatch(hostile)).toBe(hostile.expected);
    },
  );

  it("change no global state", () => {
    for (const hostile of hostilePatches) runHostilePatch(hostile);
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });
});
