import { describe, expect, it } from "vitest";
import type { Json } from "../values/json.ts";
import { applyPatch, EMPTY_STATE, stateFromSlices } from "./project-state.ts";
import { decodeBundle, decodeState, encodeBundle, encodeState } from "./version-bundle.ts";

const odd = ["b", "10", "2", "a/b~c", "", "__proto__", "constructor", "é"];
const about = { project: "project:p", version: 3 };

function stateOf(keys: readonly string[]) {
  const pairs = keys.map((key) => [key, { key }] as const);
  const list = { name: "notes", v: "2", shape: "list", items: [1, null, { deep: ["x"] }] } as const;
  return stateFromSlices([list, { name: "beds@s", v: "1", shape: "map", items: pairs as unknown as readonly Json[] }]);
}

describe("an encoded state", () => {
  it("is decoded unchanged, with any keys", () => {
    const state = decodeState(encodeState(stateOf(odd), about));
    expect(state?.get("notes")).toMatchObject({ shape: "list", v: "2" });
    const beds = state?.get("beds@s");
    expect(beds?.items instanceof Object && "size" in beds.items && beds.items.size).toBe(odd.length);
    for (const key of odd) expect(beds?.shape === "map" && beds.items.get(key)).toEqual({ key });
  });

  it("is equal for equal states, and different for each version and project", () => {
    const text = encodeState(stateOf(odd), about);
    expect(encodeState(stateOf([...odd].reverse()), about)).toBe(text);
    expect(encodeState(stateOf(odd), { ...about, version: 4 })).not.toBe(text);
    expect(encodeState(stateOf(odd), { ...about, project: "project:q" })).not.toBe(text);
  });

  it("does not depend on the order in which slices were created", () => {
    const names = ["b", "a", "z", "c", "aa", "y", "m", "k", "x", "j", "l"];
    const stateIn = (order: readonly string[]) =>
      stateFromSlices(order.map((name) => ({ name, v: "1", shape: "list", items: [name] }) as const));
    const texts = [names, [...names].reverse(), [...names].sort()].map((order) => encodeState(stateIn(order), about));
    expect(new Set(texts).size).toBe(1);
    const { slices } = JSON.parse(texts[0] as string) as { slices: readonly { name: string; items: unknown }[] };
    expect(slices).toMatchObject([...names].sort().map((name) => ({ name, items: [name] })));
  });

  it("can be patched after decoding", () => {
    const state = decodeState(encodeState(stateOf(["a"]), about)) ?? EMPTY_STATE;
    const after = applyPatch(state, [{ op: "remove", path: "/beds@s/a" }]);
    expect(encodeState(after, about)).toBe(encodeState(stateOf([]), about));
  });

  it("is ignored in another format", () => {
    expect(decodeState(`{"form":"writ/snapshot/v2","slices":[]}`)).toBeNull();
    expect(decodeBundle(`{"form":"writ/snapshot/v2","versions":[]}`)).toBeNull();
    expect(decodeBundle(encodeBundle({ base: null, versions: [] }))).toMatchObject({ base: null, versions: [] });
  });
});
