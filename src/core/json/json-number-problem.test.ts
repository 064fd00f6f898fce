import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonNumberProblem } from "./json-number-problem.ts";

describe("a JSON number", () => {
  it.each([
    "0",
    "-1",
    "1.0",
    "1.50",
    "0.1",
    "1e2",
    "1E+2",
    "100",
    "1e23",
    "0e999999",
    "9007199254740991",
    "9007199254740992",
    "9007199254740994",
    "123456789012345680000",
    "0.30000000000000004",
    "0.10000000000000001",
    "0.1000000000000000055511151231257827",
    "5e-324",
    "1.7976931348623157e308",
    `1${"0".repeat(150)}`,
  ])("%s survives", (token) => {
    expect(jsonNumberProblem(token)).toBeNull();
  });

  it.each([
    ["9007199254740993", "9007199254740993 would become 9007199254740992; send it as a text"],
    ["9007199254740993.0", "would become"],
    ["-9007199254740993", "would become"],
    ["10000000000000001", "would become"],
    ["0.1234567890123456789", "would become"],
    ["3.14159265358979323846", "would become"],
    ["1e-999", "would become 0"],
    ["4e-324", "would become 5e-324"],
    ["1e999", "1e999 is too large"],
    ["-1e999", "-1e999 is too large"],
    ["-0", "-0 does not survive"],
    ["-0.0e5", "-0 does not survive"],
    [`1${"0".repeat(150)}1`, "would become"],
  ])("%s does not survive", (token, problem) => {
    expect(jsonNumberProblem(token)).toContain(problem);
  });

  it("survives if it was written from a double", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        fc.pre(!Object.is(value, -0));
        expect(jsonNumberProblem(JSON.stringify(value))).toBeNull();
        expect(jsonNumberProblem(value.toPrecision(17))).toBeNull();
        expect(jsonNumberProblem(value.toExponential())).toBeNull();
      }),
      { numRuns: 1000 },
    );
  });

  it("is checked in linear time, however many zeros it has", () => {
    // A check that takes quadratic time does not end within the timeout of a test.
    expect(jsonNumberProblem(`${"1".padEnd(100_000, "0")}1e-100000`)).toContain("would become");
  });
});
