import { describe, expect, it } from "vitest";
import type { Json } from "../json/json.ts";
import { bundleFrom, bundleText, wholeFrom, wholeText } from "./kept.ts";
import { NO_STATE, patched, stateFrom } from "./project-state.ts";

const odd = ["b", "10", "2", "a/b~c", "", "__proto__", "constructor", "é"];
const about = { project: "project:p", version: 3 };

function stateOf(keys: readonly string[]) {
  const pairs = keys.map((key) => [key, { key }] as const);
  const list = { name: "notes", v: "2", shape: "list", items: [1, null, { deep: ["x"] }] } as const;
  return stateFrom([list, { name: "beds@s", v: "1", shape: "map", items: pairs as unknown as readonly Json[] }]);
}

describe("all of a state in one text", () => {
  it("is read back as it was, whatever its keys are", () => {
    const state = wholeFrom(wholeText(stateOf(odd), about));
    expect(state?.get("notes")).toMatchObject({ shape: "list", v: "2" });
    const beds = state?.get("beds@s");
    expect(beds?.items instanceof Object && "size" in beds.items && beds.items.size).toBe(odd.length);
    for (const key of odd) expect(beds?.shape === "map" && beds.items.get(key)).toEqual({ key });
  });

  it("is the same for equal states, and another for each version and project", () => {
    const text = wholeText(stateOf(odd), about);
    expect(wholeText(stateOf([...odd].reverse()), about)).toBe(text);
    expect(wholeText(stateOf(odd), { ...about, version: 4 })).not.toBe(text);
    expect(wholeText(stateOf(odd), { ...about, project: "project:q" })).not.toBe(text);
  });

  it("is the same whichever slice came into being first", () => {
    const names = ["b", "a", "z", "c", "aa", "y", "m", "k", "x", "j", "l"];
    const stateIn = (order: readonly string[]) =>
      stateFrom(order.map((name) => ({ name, v: "1", shape: "list", items: [name] }) as const));
    const texts = [names, [...names].reverse(), [...names].sort()].map((order) => wholeText(stateIn(order), about));
    expect(new Set(texts).size).toBe(1);
    const { slices } = JSON.parse(texts[0] as string) as { slices: readonly { name: string; items: unknown }[] };
    expect(slices).toMatchObject([...names].sort().map((name) => ({ name, items: [name] })));
  });

  it("can be gone on from", () => {
    const state = wholeFrom(wholeText(stateOf(["a"]), about)) ?? NO_STATE;
    const after = patched(state, [{ op: "remove", path: "/beds@s/a" }]);
    expect(wholeText(after, about)).toBe(wholeText(stateOf([]), about));
  });

  it("is not guessed at in another form", () => {
    expect(wholeFrom(`{"form":"writ/kept/v2","slices":[]}`)).toBeNull();
    expect(bundleFrom(`{"form":"writ/kept/v2","told":[]}`)).toBeNull();
    expect(bundleFrom(bundleText({ upon: null, told: [] }))).toMatchObject({ upon: null, told: [] });
  });
});
