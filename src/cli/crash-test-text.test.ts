import { describe, expect, it } from "vitest";
import type { CrashWindowResult } from "../testing/crashtest/run-crash-window.ts";
import { crashTestLines } from "./crash-test-text.ts";
import { textStyle } from "./text-style.ts";

const row = (given: Partial<CrashWindowResult>): CrashWindowResult => ({
  ...{ window: "none", effects: 1, record: "succeeded", verdict: "ok", settled: true, note: null },
  ...{ run_id: "run_1", store: null },
  ...given,
});

const shown = (...rows: readonly CrashWindowResult[]): readonly string[] => {
  const tell =
    (store: string) =>
    (...words: readonly string[]) =>
      `writ ${words.join(" ")} --store ${store}`;
  return crashTestLines(rows, tell, textStyle({ colors: false, host: { zone: "UTC" } })).map(({ text }) => text);
};

describe("crash test table", () => {
  it("has a row for each window and says when every verdict is ok", () => {
    const doubt = row({ window: "mark.after", effects: 0, record: "in_doubt", note: "needs a person" });
    expect(shown(row({}), doubt)).toEqual([
      "  killed at   effects  record     verdict",
      "  none        1        succeeded  ok",
      "  mark.after  0        in_doubt   ok       needs a person",
      "no effect happened twice, and the record is true in every window",
    ]);
  });

  it("does not call an act proven before it has settled", () => {
    expect(shown(row({ window: "mark.after", record: "in_doubt", settled: false })).at(-1)).toMatch(
      /so far, but mark\.after had not come to rest; increase --patience$/,
    );
  });

  it("says for each bad window which record contradicts which count, and how to inspect it", () => {
    const twice = row({ window: "tool.after", effects: 2, verdict: "DUPLICATE", store: "x.db" });
    const [heads, cells, ...rest] = shown(twice);
    expect(heads).toContain("killed at");
    expect(cells).toContain("DUPLICATE");
    expect(rest).toEqual([
      "DUPLICATE at tool.after: the record says succeeded, the outside world has 2 effects",
      "  inspect it:  writ events run_1 --store x.db",
    ]);
  });

  it("suggests a wrong counter or input before it blames the tool", () => {
    const lie = { effects: 0, verdict: "LIE", store: "x.db" } as const;
    expect(shown(row(lie)).at(-2)).toMatch(/no effect; .* make sure that --count counts each act once$/);
    expect(shown(row({ ...lie, window: "end.after" })).at(-2)).toMatch(/put \{unique\} into --input$/);
  });

  it("escapes control characters in a tool's text", () => {
    expect(shown(row({ note: "\u001b[2J" }))[1]).toContain("\\u001b[2J");
  });
});
