import { describe, expect, it } from "vitest";
import { Fields } from "./fields.ts";
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
