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

  it("has a finding for each step that the rights of its principal or a policy refuse, if it is told who asks", async () => {
    const admin = scriptedTool("wipe", () => 1, { roles: ["admin"] }).tool;
    const send = scriptedTool("send", () => 1, { effect: "reads" }).tool;
    const rule = { id: "no", kind: "deny", on: { tools: ["send"] }, when: "input.to == 'all'" };
    const policies = [{ schema_version: "1.0", name: "house", scope: { tenant: "acme", project: "p" }, rules: [rule] }];
    const engine = await newStage().open({ tools: [admin, send], policies });
    const steps = [
      { step_id: "wipe", name: "wipe" },
      { step_id: "one", name: "send", payload: { to: "ana" } },
      { step_id: "all", name: "send", payload: { to: "all" } },
      { step_id: "bound", name: "send", bindings: { "/to": { step: "one", path: "" } } },
    ];
    const found = (options: object) =>
      engine.check({ steps }, options).findings.map(({ code, proof, steps: at }) => [code, proof, ...at]);
    expect(found({})).toEqual([]);
    expect(found({ principal: botAgent, project: "p" })).toEqual([
      ["FORBIDDEN", "proven", "wipe"],
      ["FORBIDDEN", "heuristic", "all"],
    ]);
    expect(found({ principal: { ...botAgent, roles: ["admin"] }, project: "other" })).toEqual([]);
    const bounded = { ...botAgent, roles: ["admin"], capabilities: [{ max_actions: 3 }] };
    expect(found({ principal: bounded })).toEqual(steps.map(({ step_id }) => ["FORBIDDEN", "proven", step_id]));
    expect(engine.check({ steps }, { principal: botAgent }).unchecked).not.toEqual(engine.check({ steps }).unchecked);
  });

  it("has a finding for a gate that no people can decide", async () => {
    const demand = { id: "two", kind: "approval", on: { tools: ["send"] }, role: "chief", people: 2 };
    const policy = (approvers: readonly string[]) => ({
      schema_version: "1.0",
      name: "house",
      rules: [{ ...demand, approvers }],
    });
    const steps = [{ step_id: "a", name: "send" }];
    for (const [approvers, count] of [
      [["ana", "bo"], 0],
      [["ana", "bot"], 1],
    ] as const) {
      const engine = await newStage().open({
        tools: [scriptedTool("send", () => 1).tool],
        policies: [policy(approvers)],
      });
      const { findings } = engine.check({ steps }, { principal: botAgent });
      expect(findings.filter(({ code }) => code === "UNDECIDABLE")).toHaveLength(count);
    }
  });

  it.each([
    [{ mode: "yolo" }, "mode must be one of"],
    [{ deadlineMs: "soon" }, "deadlineMs must be a number"],
    [{ budget: { euros: 1 } }, "budget has no euros"],
    [{ principal: { id: 7 } }, "principal"],
    [{ author: botAgent }, "author"],
  ])("is refused with the terms %o", async (terms, message) => {
    const engine = await opened();
    expect(() => engine.check({ steps: [] }, terms as object)).toThrow(message);
  });
});
