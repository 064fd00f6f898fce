import { describe, expect, it } from "vitest";
import { activeFilters, runListOptions } from "./run-filters.ts";

describe("the filters of runs", () => {
  it("are read from the address; a time that cannot be read is left out", () => {
    const from = "2026-11-18T10:00";
    expect(runListOptions({ status: "waiting", tool: "mail", decidable: "1", from, to: "soon", other: "x" })).toEqual({
      status: "waiting",
      tool: "mail",
      decidable: true,
      from: Date.parse(from),
    });
    expect(runListOptions({ waiting_for: "approval" })).toEqual({ waitingFor: "approval" });
  });

  it("are named, except the status, which has its own control", () => {
    expect(activeFilters({ status: "open", by: "ana", decidable: "1", from: "2026-11-18T10:00", tool: "" })).toEqual([
      { name: "decidable", text: "I can decide" },
      { name: "from", text: "From: 2026-11-18 10:00" },
      { name: "by", text: "Started by: ana" },
    ]);
  });
});
