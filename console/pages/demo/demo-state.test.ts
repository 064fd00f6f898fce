import { expect, it } from "vitest";
import { countEffects } from "./demo-state.ts";

it("an effect counts as repeated if another one has its identity", () => {
  expect(countEffects([], String)).toEqual({ total: 0, repeated: 0 });
  expect(countEffects(["a", "b"], String)).toEqual({ total: 2, repeated: 0 });
  expect(countEffects(["a", "b", "a", "a"], String)).toEqual({ total: 4, repeated: 2 });
});
