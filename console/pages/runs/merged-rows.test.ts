import { describe, expect, it } from "vitest";
import type { RunRow } from "../../../src/core/store/tables.ts";
import { withFirstPage, withNextPage, withRow } from "./merged-rows.ts";

const rowsOf = (...ids: string[]) => ids.map((run_id) => ({ run_id }) as RunRow);
const idsOf = (rows: readonly RunRow[]) => rows.map(({ run_id }) => run_id).join("");

describe("the loaded rows of a list", () => {
  it("take new runs and lose those that no longer match, as the first page says", () => {
    const rows = rowsOf("f", "e", "d", "c", "b");
    expect(idsOf(withFirstPage(rows, rowsOf("g", "f", "d"), false))).toBe("gfdcb");
    expect(idsOf(withFirstPage(rows, rowsOf("g", "f"), true))).toBe("gf");
    expect(idsOf(withFirstPage(rows, [], true))).toBe("");
  });

  it("take the next page once", () => {
    const rows = rowsOf("f", "e");
    const next = withNextPage(rows, rowsOf("d", "c"));
    expect(idsOf(next)).toBe("fedc");
    expect(idsOf(withNextPage(next, rowsOf("d", "c")))).toBe("fedc");
  });

  it("replace or lose one row that was read again", () => {
    const rows = rowsOf("f", "e", "d");
    expect(idsOf(withRow(rows, "e", null))).toBe("fd");
    expect(withRow(rows, "e", { run_id: "e", status: "completed" } as RunRow)[1]?.status).toBe("completed");
  });
});
