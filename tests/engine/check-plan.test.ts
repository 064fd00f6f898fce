import { describe, expect, it } from "vitest";
import { kvSlice } from "../../src/schema/kv-slice.ts";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

describe.each(storeKinds)("a checked plan, on $name", ({ newFixture: newStage }) => {
  const opened = () =>
    newStage().open({
      tools: [scriptedTool("send", () => 1).tool, scriptedTool("look", () => 1, { effect: "reads" }).tool],
      slices: [kvSlice],
    });

  it("has findings that say where, how severe and how certain they are, and runs nothing", async () => {
    const engine = await opened();
    const set = { step_id: "set", kind: "state_write", payload: { path: "/kv/n", value: 1 } };
    const needs = [{ state: "/kv/n", operator: "gt", value: 1 }];
    const steps = [set, { step_id: "a", name: "look", preconditions: needs }, { step_id: "b", name: "send" }];
    const report = engine.check({ steps }, { mode: "draft_only" });
    expect(report).toMatchObject({ ok: true, bounds: { depth: 2, ms: 0 } });
    expect(report.findings).toMatchObject([
      { code: "MODE_FORBIDS", severity: "error", proof: "proven", path: "/steps/2", steps: ["b"] },
      { code: "UNSATISFIABLE", severity: "error", proof: "heuristic", path: "/steps/1/preconditions", steps: ["a"] },
    ]);
    expect(report.unchecked.length).toBeGreaterThan(0);
    expect(await engine.runs({ principal: botAgent })).toEqual([]);
  });

  it("reports its reasons as findings, too", async () => {
    const report = (await opened()).check({ steps: [{ step_id: "a", name: "lok" }] });
    expect(report).toMatchObject({ ok: false, bounds: null, findings: [{ code: "INVALID", path: "/steps/0/name" }] });
  });

  it.each([
    [{ mode: "yolo" }, "mode must be one of"],
    [{ deadlineMs: "soon" }, "deadlineMs must be a number"],
    [{ budget: { euros: 1 } }, "budget has no euros"],
    [{ principal: botAgent }, "principal"],
  ])("is refused with the terms %o", async (terms, message) => {
    const engine = await opened();
    expect(() => engine.check({ steps: [] }, terms as object)).toThrow(message);
  });
});
