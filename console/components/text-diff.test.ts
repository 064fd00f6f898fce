import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textDiff } from "./text-diff.ts";

describe("the difference of two texts", () => {
  it("has the changed lines with their numbers", () => {
    expect(textDiff("a\nb\n", "a\nc\n")).toEqual([
      { is: "same", text: "a", before: 1, after: 1 },
      { is: "removed", text: "b", before: 2 },
      { is: "added", text: "c", after: 2 },
    ]);
  });

  it("leaves out equal lines that are far from a change", () => {
    const many = Array.from({ length: 10 }, (_, at) => `line ${at}`).join("\n");
    expect(textDiff(`${many}\nold`, `${many}\nnew`)).toEqual([
      { is: "skip", count: 7 },
      { is: "same", text: "line 7", before: 8, after: 8 },
      { is: "same", text: "line 8", before: 9, after: 9 },
      { is: "same", text: "line 9", before: 10, after: 10 },
      { is: "removed", text: "old", before: 11 },
      { is: "added", text: "new", after: 11 },
    ]);
  });

  it("of equal texts is one gap", () => {
    expect(textDiff("a\nb", "a\nb")).toEqual([{ is: "skip", count: 2 }]);
  });

  it("of very different long texts replaces one by the other", () => {
    const many = (mark: string) => Array.from({ length: 10_000 }, (_, at) => `line ${at} ${mark}`).join("\n");
    const lines = textDiff(many("one"), many("two"));
    expect(lines.filter(({ is }) => is === "removed")).toHaveLength(10_000);
    expect(lines.filter(({ is }) => is === "added")).toHaveLength(10_000);
  });

  it("of long texts has every changed line, however many there are", () => {
    const many = (mark: string) =>
      Array.from({ length: 10_000 }, (_, at) => (at % 3 === 0 ? `line ${at} ${mark}` : `line ${at}`)).join("\n");
    const lines = textDiff(many("one"), many("two"));
    expect(lines.filter(({ is }) => is === "added")).toHaveLength(3334);
    expect(lines.filter(({ is }) => is === "same")).toHaveLength(6666);
  });

  it("leads from one text to the other", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 30 }).map((list) => list.join("\n"));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const told = textDiff(before, after);
        fc.pre(told.every(({ is }) => is !== "skip"));
        const side = (skipped: string) =>
          told.flatMap((line) => (line.is === skipped || line.is === "skip" ? [] : [line.text]));
        expect(side("added").join("\n")).toBe(before.replace(/\n$/, ""));
        expect(side("removed").join("\n")).toBe(after.replace(/\n$/, ""));
      }),
    );
  });
});
