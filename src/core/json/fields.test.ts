import { describe, expect, it } from "vitest";
import { Fields } from "./fields.ts";
import type { JsonObject } from "./json.ts";
import { Reasons } from "./reasons.ts";

describe("the fields of a foreign object", () => {
  it("are never those that every object inherits", () => {
    const reasons = new Reasons();
    const fields = new Fields({}, "/a", reasons);
    expect(fields.value("toString")).toBeUndefined();
    expect(fields.object("constructor")).toEqual({});
    expect(reasons.none).toBe(true);
  });

  it("are told with their place, whatever is in their name", () => {
    const reasons = new Reasons();
    new Fields({ "b/c": 1 }, "/a", reasons).onlyKnown(["x"]);
    expect(reasons.list).toEqual([{ path: "/a/b~1c", message: "no such field; there are x" }]);
  });
});

describe("reading the fields of a foreign object", () => {
  const word = { pattern: /^[a-z]+$/, form: "a small word" };
  const read = <Answer>(object: JsonObject, work: (fields: Fields) => Answer) => {
    const reasons = new Reasons();
    const answer = work(new Fields(object, "/a", reasons));
    return [answer, ...reasons.list.map(({ path, message }) => `${path} ${message}`)];
  };

  it.each<[string, JsonObject, (fields: Fields) => unknown, readonly unknown[]]>([
    ["a text", { x: "abc" }, (fields) => fields.text("x", word, null), ["abc"]],
    ["no text", {}, (fields) => fields.text("x", word, null), [null]],
    [
      "a text of another form",
      { x: "A" },
      (fields) => fields.text("x", word, null),
      [null, "/a/x must be a small word"],
    ],
    ["a number for a text", { x: 1 }, (fields) => fields.text("x", word, 7), [7, "/a/x must be a small word"]],
    ["a list for a text", { x: ["abc"] }, (fields) => fields.text("x", word, 7), [7, "/a/x must be a small word"]],
    ["a choice", { x: "b" }, (fields) => fields.choice("x", ["a", "b"], "a"), ["b"]],
    ["no choice", {}, (fields) => fields.choice("x", ["a", "b"], "a"), ["a"]],
    ["another choice", { x: "c" }, (fields) => fields.choice("x", ["a", "b"], "a"), ["a", "/a/x must be one of a, b"]],
    ["a list", { x: [1] }, (fields) => fields.list("x"), [[1]]],
    ["no list", {}, (fields) => fields.list("x"), [[]]],
    ["what is no list", { x: {} }, (fields) => fields.list("x"), [[], "/a/x must be a list"]],
    ["an object", { x: { y: 1 } }, (fields) => fields.object("x"), [{ y: 1 }]],
    ["no object", {}, (fields) => fields.object("x"), [{}]],
    ["what is no object", { x: [] }, (fields) => fields.object("x"), [{}, "/a/x must be an object"]],
    ["what is nothing", { x: null }, (fields) => fields.object("x"), [{}, "/a/x must be an object"]],
    ["a known field", { x: 1 }, (fields) => fields.onlyKnown(["x", "y"]), [undefined]],
    [
      "a misspelt field",
      { stpes: 1 },
      (fields) => fields.onlyKnown(["steps"]),
      [undefined, "/a/stpes no such field; did you mean steps?"],
    ],
    [
      "a strange field",
      { q: 1 },
      (fields) => fields.onlyKnown(["steps", "plan"]),
      [undefined, "/a/q no such field; there are steps, plan"],
    ],
  ])("finds %s", (_, object, work, expected) => {
    expect(read(object, work)).toEqual(expected);
  });

  it.each([
    [3, 3],
    [1, 1],
    [9, 9],
    [null, null],
    [0, "wrong"],
    [10, "wrong"],
    [2.5, "wrong"],
    ["3", "wrong"],
    [[3], "wrong"],
  ] as const)("takes %j for a whole number from 1 to 9: %s", (x, expected) => {
    const wrong = [null, "/a/x must be a whole number from 1 to 9"];
    expect(read({ x } as JsonObject, (fields) => fields.whole("x", { min: 1, max: 9 }))).toEqual(
      expected === "wrong" ? wrong : [expected],
    );
  });
});
