import { describe, expect, it } from "vitest";
import { schemaProblems } from "./schema-problems.ts";

const schema = {
  type: "object",
  properties: {
    to: { type: "string", minLength: 3 },
    cents: { type: "integer", exclusiveMinimum: 0, maximum: 100 },
    kind: { enum: ["a", "b"] },
    tags: { type: "array", items: { type: "string" }, maxItems: 2 },
  },
  required: ["to"],
  additionalProperties: false,
};

describe("the problems of a value", () => {
  it("are none if it fits", () => {
    expect(schemaProblems({ to: "ana", cents: 100, kind: "b", tags: ["x"] }, schema)).toEqual([]);
    expect(schemaProblems({ anything: 1 }, {})).toEqual([]);
  });

  it.each([
    [{ cents: 1 }, "/to", "is missing"],
    [{ to: "ana", bcc: "x" }, "/bcc", "is not a field of this tool"],
    [{ to: 5 }, "/to", "must be string, not integer"],
    [{ to: "a" }, "/to", "must have at least 3 characters"],
    [{ to: "ana", cents: 0 }, "/cents", "must be more than 0"],
    [{ to: "ana", cents: 101 }, "/cents", "must be at most 100"],
    [{ to: "ana", cents: 1.5 }, "/cents", "must be integer, not number"],
    [{ to: "ana", kind: "c" }, "/kind", 'must be one of "a", "b"'],
    [{ to: "ana", tags: ["x", 1] }, "/tags/1", "must be string, not integer"],
    [{ to: "ana", tags: ["x", "y", "z"] }, "/tags", "must have at most 2 items"],
    [[], "", "must be object, not array"],
  ])("of %j are at %s: %s", (value, path, message) => {
    expect(schemaProblems(value, schema)).toEqual([{ path, message }]);
  });
});
