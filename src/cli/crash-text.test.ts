import picocolors from "picocolors";
import { describe, expect, it } from "vitest";
import type { CrashRow } from "./crash-scene.ts";
import { crashLines } from "./crash-text.ts";

const row = (given: Partial<CrashRow>): CrashRow => ({
  ...{ window: "none", effects: 1, record: "succeeded", verdict: "ok", settled: true, note: null },
  ...{ run_id: "run_1", store: null },
  ...given,
});

const shown = (...rows: readonly CrashRow[]): readonly string[] => {
  const tell =
    (store: string) =>
    (...words: readonly string[]) =>
      `writ ${words.join(" ")} --store ${store}`;
  return crashLines(rows, tell, picocolors.createColors(false)).map(({ text }) => text);
};

describe("the table of a crash test", () => {
  it("has a line for each window and says so when all is well", () => {
    const doubt = row({ window: "mark.after", effects: 0, record: "in_doubt", note: "needs a person" });
    expect(shown(row({}), doubt)).toEqual([
      "  killed at   effects  record     verdict",
      "  none        1        succeeded  ok",
      "  mark.after  0        in_doubt   ok       needs a person",
      "nothing was done twice, and the record is true wherever it was killed",
    ]);
  });

  it("does not call proven what nobody waited for", () => {
    expect(shown(row({ window: "mark.after", record: "in_doubt", settled: false })).at(-1)).toMatch(
      /so far, but mark\.after had not come to rest; give more --patience$/,
    );
  });

  it("says of each bad window what contradicts what, and where to look", () => {
    const twice = row({ window: "tool.after", effects: 2, verdict: "DUPLICATE", store: "x.db" });
    const [heads, cells, ...rest] = shown(twice);
    expect(heads).toContain("killed at");
    expect(cells).toContain("DUPLICATE");
    expect(rest).toEqual([
      "DUPLICATE at tool.after: the record says succeeded, the world saw it 2 times",
      "  look at it:  writ events run_1 --store x.db",
    ]);
  });

  it("blames the counter and the input before the tool", () => {
    const lie = { effects: 0, verdict: "LIE", store: "x.db" } as const;
    expect(shown(row(lie)).at(-2)).toMatch(/did not see it; .* make sure that --count counts each act once$/);
    expect(shown(row({ ...lie, window: "end.after" })).at(-2)).toMatch(/put \{unique\} into --input$/);
  });

  it("shows what a tool says without what a terminal would obey", () => {
    expect(shown(row({ note: "\u001b[2J" }))[1]).toContain("\\u001b[2J");
  });
});
