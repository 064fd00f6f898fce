import { describe, expect, it } from "vitest";
import { defineReplanner } from "../../src/schema/define-replanner.ts";
import { kvSlice } from "../../src/schema/kv-slice.ts";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

const put = (step_id: string, path: string, value: unknown) => ({
  step_id,
  kind: "state_write",
  payload: { path, value },
});

describe.each(storeKinds)("a condition on the state, on $name", ({ newFixture: newStage }) => {
  const opened = async () => {
    const look = scriptedTool("look", () => "seen", { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool], slices: [kvSlice] });
    const submit = async (steps: readonly object[], who: object = {}) =>
      (await engine.submit({ steps }, { principal: { ...botAgent, ...who }, project: "p" })).result();
    return { engine, look, submit };
  };

  it("of a step is judged when the step starts, after the earlier writes of its plan", async () => {
    const { look, submit } = await opened();
    const needs = (value: unknown) => [{ state: "/kv/beds", operator: "gte", value }];
    const result = await submit([
      put("set", "/kv/beds", 3),
      { step_id: "ok", name: "look", preconditions: needs(3) },
      { step_id: "no", name: "look", preconditions: needs(4), on_rejected: "continue" },
    ]);
    expect(result.steps.ok).toMatchObject({ state: "succeeded" });
    expect(result.steps.no).toMatchObject({
      state: "rejected",
      fault: {
        code: "PRECONDITION_FAILED",
        message: "no needs state /kv/beds gte 4, which is false; it was not run",
      },
    });
    expect(look.calls).toHaveLength(1);
  });

  it("is asserted by a step of its own, and is met by no value only if it asks for none", async () => {
    const { submit } = await opened();
    const claim = (step_id: string, operator: string, value?: unknown) => ({
      step_id,
      kind: "assertion",
      payload: { state: "/kv/none", operator, ...(value !== undefined && { value }) },
      on_failure: "skip",
    });
    const result = await submit([claim("absent", "not_exists"), claim("there", "exists"), claim("same", "eq", 1)]);
    expect(result.steps).toMatchObject({
      absent: { state: "succeeded" },
      there: { state: "skipped", fault: { code: "ASSERTION_FAILED" } },
      same: { state: "skipped", fault: { code: "ASSERTION_FAILED", message: "same: state /kv/none is not eq 1" } },
    });
  });

  it("reads the state of its own tenant only, also in rules and snapshots, and tells no replanner of another", async () => {
    const told: string[] = [];
    const replanner = defineReplanner({
      name: "planner",
      replan: (report) => {
        told.push(JSON.stringify(report));
        return null;
      },
    });
    const look = scriptedTool("look", () => "seen", { effect: "reads" }).tool;
    const policy = (tenant: string) => ({
      schema_version: "1.0",
      name: tenant,
      scope: { tenant },
      rules: [{ id: "few", kind: "state", on: { tools: ["look"] }, state: { n: "/kv/n" }, expression: "state.n < 5" }],
    });
    const engine = await newStage().open({
      tools: [look, replanner],
      slices: [kvSlice],
      policies: [policy("acme"), policy("rival")],
    });
    const submit = async (tenant: string, steps: readonly object[]) => {
      const options = { principal: { ...botAgent, tenant }, project: "p", replan: { by: "planner" } };
      return (await engine.submit({ steps }, options)).finished();
    };
    await submit("rival", [put("set", "/kv/n", 7)]);
    const needs = (value: number) => [{ state: "/kv/n", operator: "eq", value }];
    const seen = { step_id: "look", name: "look", preconditions: needs(1), depends_on: ["set"] };
    expect((await submit("acme", [put("set", "/kv/n", 1), seen])).status).toBe("completed");
    const foreign = { step_id: "look", name: "look", preconditions: needs(7) };
    expect((await submit("acme", [foreign])).steps.look?.fault?.code).toBe("PRECONDITION_FAILED");
    expect((await submit("rival", [foreign])).steps.look?.fault?.code).toBe("POLICY_DENIED");
    const state = await engine.state({ principal: botAgent, project: "p" });
    expect(state.slice(kvSlice).all()).toEqual([["n", 1]]);
    expect(JSON.stringify(state.snapshot({ includeAll: true }))).not.toContain("rival");
    expect(told[0]).toContain("PRECONDITION_FAILED");
    expect(told[0]).not.toContain("rival");
  });

  it("tells nothing about state that the principal may not read", async () => {
    const { submit } = await opened();
    await submit([put("set", "/kv/secret", 1)]);
    const restricted = { capabilities: [{ state_reads: ["/kv/open"] }] };
    const step = { step_id: "a", kind: "assertion", payload: { state: "/kv/secret", operator: "exists" } };
    expect((await submit([step], restricted)).steps.a).toMatchObject({
      state: "rejected",
      fault: { code: "AUTH_FORBIDDEN" },
    });
  });

  it("is refused where the engine has no slices, and where it names no entry", async () => {
    const step = (state: unknown) => ({
      steps: [{ step_id: "a", kind: "assertion", payload: { state, operator: "exists" } }],
    });
    const bare = await newStage().open({ tools: [] });
    expect(bare.check(step("/kv/a"))).toMatchObject({ ok: false, reasons: [{ path: "/steps/0/payload/state" }] });
    const { engine } = await opened();
    for (const wrong of ["", "kv/a", "/kv", 7, null])
      expect(engine.check(step(wrong)), String(wrong)).toMatchObject({ ok: false });
    expect(engine.check(step("/kv/a")).ok).toBe(true);
  });
});
