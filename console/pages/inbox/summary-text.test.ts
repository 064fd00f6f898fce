import { expect, it } from "vitest";
import { summaryText } from "./summary-text.ts";

it.each([
  [{ to: "li@example.org", body: "Hello\n\nLi" }, "li@example.org · Hello Li"],
  [{ order: 42, cents: 500 }, "order 42 · cents 500"],
  [
    { to: "li@example.org", urgent: true, copies: ["bo@example.org"] },
    'li@example.org · urgent true · copies ["bo@example.org"]',
  ],
  [["a", 1], "a · 1"],
  [12, "12"],
  [null, "null"],
])("the input %j is one line: %s", (input, line) => {
  expect(summaryText(input)).toBe(line);
});

it("the line of a long input is cut", () => {
  expect(summaryText({ body: "x".repeat(1_000_000) })).toHaveLength(160);
});
