import { describe, expect, it } from "vitest";
import { readAskedData } from "./read-asked-data.ts";

const schema = {
  type: "object",
  properties: { transcript: { type: "string", minLength: 3 }, amounts: { type: "array", items: { type: "number" } } },
};
const asked = [
  { path: "/transcript", what: "the transcript" },
  { path: "/amounts/0", what: "the first amount" },
];

describe("the data that a person types", () => {
  it("is text where the schema says so, and JSON elsewhere", () => {
    expect(readAskedData(asked, { "/transcript": "12 lines", "/amounts/0": "12" }, schema)).toEqual({
      ok: true,
      value: { "/transcript": "12 lines", "/amounts/0": 12 },
    });
  });

  it("is text at a place that the schema does not know", () => {
    const free = [{ path: "/note", what: "a note" }];
    expect(readAskedData(free, { "/note": "12" }, {})).toEqual({ ok: true, value: { "/note": "12" } });
  });

  it.each([
    [{}, ["/transcript is missing", "/amounts/0 is missing"]],
    [{ "/transcript": "ab", "/amounts/0": "12" }, ["/transcript must have at least 3 characters"]],
    [{ "/transcript": "abc", "/amounts/0": "twelve" }, ["/amounts/0 must be number, as JSON"]],
    [{ "/transcript": "abc", "/amounts/0": '"12"' }, ["/amounts/0 must be number, not string"]],
  ])("%j is not sent", (texts, expected) => {
    const read = readAskedData(asked, texts as Record<string, string>, schema);
    expect(read.ok ? [] : read.problems.map(({ path, message }) => `${path} ${message}`)).toEqual(expected);
  });
});
