import { describe, expect, it } from "vitest";
import { endOfPatch, hostilePatches } from "../bench/hostile-patches.ts";
import { endOfSchema, hostileSchemas } from "../bench/hostile-schemas.ts";

/** How long each takes is for `npm run hostile` to say; what it comes to is the same on every machine. */
describe("hostile JSON Schemas", () => {
  it.each(hostileSchemas.map((hostile, at) => [at, hostile.about, hostile] as const))(
    "%i %s",
    (_at, _about, hostile) => {
      expect(endOfSchema(hostile)).toBe(hostile.comesTo);
    },
  );
});

describe("hostile changes of state", () => {
  it.each(hostilePatches.map((hostile, at) => [at, hostile.about, hostile] as const))(
    "%i %s",
    (_at, _about, hostile) => {
      expect(endOfPatch(hostile)).toBe(hostile.comesTo);
    },
  );

  it("leave nothing behind", () => {
    for (const hostile of hostilePatches) endOfPatch(hostile);
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });
});
