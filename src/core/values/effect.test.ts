import { describe, expect, it } from "vitest";
import { effects, effectTags, modes, stricterMode, worseEffect } from "./effect.ts";

describe("the worse of two effects", () => {
  it("is the one that comes later in the list", () => {
    for (const [left, low] of effects.entries())
      for (const [right, high] of effects.entries()) expect(worseEffect(low, high)).toBe(left >= right ? low : high);
  });

  it("is the effect to which each tag of a plan is mapped", () => {
    expect(effectTags).toMatchObject({ read_only: "reads", produce_outcome: "writes", external_send: "acts" });
    for (const effect of effects) expect(effectTags[effect]).toBe(effect);
  });
});

describe("the stricter of two modes", () => {
  it("is the one that comes first in the list", () => {
    for (const [left, strict] of modes.entries())
      for (const [right, lax] of modes.entries()) expect(stricterMode(strict, lax)).toBe(left <= right ? strict : lax);
  });
});
