import { describe, expect, it } from "vitest";
import { migrationProgressLines } from "./migration-progress-lines.ts";

describe("the notes of a migration", () => {
  it("say after the first piece how long it takes, and again every five seconds", () => {
    let now = 0;
    const note = migrationProgressLines(() => now);
    const noteAt = (ms: number, moved: number) => {
      now = ms;
      return note({ moved, total: 100_000 })?.text ?? null;
    };
    expect(noteAt(100, 2000)).toBe("moved 2000 of about 100000 events; this takes about 5 s more");
    expect(noteAt(200, 4000)).toBeNull();
    expect(noteAt(5100, 50_000)).toContain("takes about 6 s more");
    expect(noteAt(9000, 100_000)).toBeNull();
  });
});
