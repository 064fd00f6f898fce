import { describe, expect, it } from "vitest";
import type { JsonObject } from "../values/json.ts";
import { FieldReader } from "./field-reader.ts";
import { ProblemList } from "./problem-list.ts";

describe("the fields of an object from outside", () => {
  it("are its own fields, never inherited ones", () => {
    const reasons = new ProblemList();
    const fields = new FieldReader({}, "/a", reasons);
    expect(fields.value("toString")).toBeUndefined();
    expect(fields.object("constructor")).toEqual({});
    expect(reasons.isEmpty).toBe(true);
  });

  it("are reported with an escaped JSON pointer", () => {
    const reasons = new ProblemList();
    new FieldReader({ "b/c": 1 }, "/a", reasons).refuseUnknown(["x"]);
    expect(reasons.list).toEqual([{ path: "/a/b~1c", message: "no such field; there are x" }]);
  });
});

describe("reading the fields of an object from outside", () => {
  const word = { pattern: /^[a-z]+$/, form: "a small word" };
  const read = <Answer>(object: JsonObject, work: (fields: FieldReader) => Answer) => {
    const reasons = new ProblemList();
    const answer = work(new FieldReader(object, "/a", reasons));
    return [answer, ...reasons.list.map(({ path, message }) => `${path} ${message}`)];
  };

  it.each<[string, JsonObject, (fields: FieldReader) => unknown, readonly unknown[]]>([
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
    ["an object for a list", { x: {} }, (fields) => fields.list("x"), [[], "/a/x must be a list"]],
    ["an object", { x: { y: 1 } }, (fields) => fields.object("x"), [{ y: 1 }]],
    ["no object", {}, (fields) => fields.object("x"), [{}]],
    ["a list for an object", { x: [] }, (fields) => fields.object("x"), [{}, "/a/x must be an object"]],
    ["null for an object", { x: null }, (fields) => fields.object("x"), [{}, "/a/x must be an object"]],
    ["a known field", { x: 1 }, (fields) => fields.refuseUnknown(["x", "y"]), [undefined]],
    [
      "a misspelt field",
      { stpes: 1 },
      (fields) => fields.refuseUnknown(["steps"]),
      [undefined, "/a/stpes no such field; did you mean steps?"],
    ],
    [
      "an unknown field",
      { q: 1 },
      (fields) => fields.refuseUnknown(["steps", "plan"]),
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
    expect(read({ x } as JsonObject, (fields) => fields.wholeNumber("x", { min: 1, max: 9 }))).toEqual(
      expected === "wrong" ? wrong : [expected],
    );
  });
});
