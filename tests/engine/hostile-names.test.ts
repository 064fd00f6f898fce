import { describe, expect, it } from "vitest";
import type { MapDraft } from "../../src/core/state/slice.ts";
import type { Json, JsonObject } from "../../src/core/values/json.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

/** Names that every object inherits, or that would change every object. */
const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "a.b/c~d", "", " ", "\u0000"];
const untouched = () =>
  expect([Object.hasOwn(Object.prototype, "admin"), typeof {}.toString]).toEqual([false, "function"]);

const facts = defineSlice({
  name: "constructor",
  shape: "map",
  entry: {},
  reducers: { constructor: (slice: MapDraft<Json>, event: JsonObject) => slice.set(String(event.key), event) },
});
const other = defineSlice({ name: "valueof", shape: "list", entry: {} });
const slices = [facts, other];

describe.each(storeKinds)("names of Object.prototype, on $name", ({ newFixture: newStage }) => {
  it("are ordinary names for slices, events, entries, projects, sessions and steps", async () => {
    const stage = newStage();
    const write = scriptedTool(
      "write",
      ({ context }) => {
        for (const key of names) context.slice(facts).set(key, { admin: key });
        context.dispatch("constructor", { key: "told" });
        return { ok: true };
      },
      { effect: "writes" },
    );
    const options = { tools: [write.tool], slices };
    const scope = { principal: botAgent, project: "__proto__", session: "constructor" };
    const first = await stage.open(options);
    const plan = { steps: [{ step_id: "constructor", name: "write" }] };
    const run = await first.submit(plan, scope);
    expect((await run.result()).status).toBe("completed");
    await stage.crash();
    const engine = await stage.open(options);
    const state = await engine.state(scope);
    expect(state.slice(facts).all()).toEqual(
      [...names.map((key) => [key, { admin: key }] as const), ["told", { key: "told" }] as const].sort(([a], [b]) =>
        a < b ? -1 : 1,
      ),
    );
    const before = { runId: run.run_id, stepId: "constructor", side: "before" } as const;
    expect(await engine.checkpoints.restore(before, { principal: anaPerson })).toMatchObject({ version: 2 });
    expect((await engine.state(scope)).slice(facts).size).toBe(0);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
    untouched();
  });

  it("are found in a snapshot only if it contains them", async () => {
    const engine = await newStage().open({ tools: [], slices });
    const empty = { schema_version: "1", created_at: 0, version: 0, tag: null, slices: {} };
    const loaded = await engine.checkpoints.load(empty as never, { principal: botAgent, project: "p" });
    expect(loaded.step).toMatchObject({ state: "succeeded" });
  });

  it("may name a resource", async () => {
    const files = new MemoryFilesystem({ name: "constructor", files: { a: "1" } });
    const edit = scriptedTool(
      "edit",
      async ({ context }) => (await context.resource<Filesystem>("toString").write("a", "2")) ?? { ok: true },
      { effect: "writes", resources: { toString: "handle" } as never },
    );
    const engine = await newStage().open({ tools: [edit.tool], resources: { toString: files } });
    const run = await engine.submit({ steps: [{ step_id: "a", name: "edit" }] }, { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
  });

  it("name no unregistered tool, in a plan or in an errand", async () => {
    const stage = newStage();
    const ask = scriptedTool("ask", ({ context }) => context.errand("constructor", {}) ?? { ok: true }, {
      effect: "pure",
    });
    const engine = await stage.open({ tools: [ask.tool] });
    const plan = { steps: [{ step_id: "a", name: "constructor" }] };
    expect((await rejectedFault(engine.submit(plan, { principal: botAgent }))).code).toBe("PLAN_INVALID");
    const run = await engine.submit({ steps: [{ step_id: "a", name: "ask" }] }, { principal: botAgent });
    const { steps } = await stage.runUntilIdle(run);
    expect(steps["a.1"]).toMatchObject({ state: "rejected", fault: { code: "TOOL_UNKNOWN" } });
  });

  it.each([
    ["a plan", (evil: object) => ({ steps: [{ step_id: "a", name: "write", payload: evil }] })],
    ["a plan as a whole", (evil: object) => Object.assign(Object.create(null), evil, { steps: [] })],
  ])("are refused as %s that reaches for a prototype, before anything is stored", async (_, planOf) => {
    const stage = newStage();
    const write = scriptedTool("write", () => ({ ok: true }), { effect: "reads" });
    const engine = await stage.open({ tools: [write.tool] });
    for (const text of ['{"__proto__":{"admin":true}}', '{"constructor":{"prototype":{"admin":true}}}']) {
      const evil = JSON.parse(text);
      expect((await rejectedFault(engine.submit(planOf(evil), { principal: botAgent }))).code).toBe("PLAN_INVALID");
      expect((await rejectedFault(engine.submit(planOf({}), { principal: botAgent, context: evil }))).code).toMatch(
        /INVALID/,
      );
    }
    for (const { status } of await engine.runs({ principal: botAgent })) expect(status).toBe("rejected");
    expect(JSON.stringify(await stage.dump())).not.toContain("admin");
    untouched();
  });

  it("are refused in policies, claims and capabilities that reach for a prototype", async () => {
    const engine = await newStage().open({ tools: [] });
    const evil = JSON.parse('{"__proto__":{"admin":true}}');
    const policy = { schema_version: "1.0", name: "house", scope: { tenant: "acme" }, rules: [], ...evil };
    Object.defineProperty(policy, "__proto__", { enumerable: true, value: { rules: [] } });
    expect((await rejectedFault(engine.policies.set(policy, { principal: anaPerson }))).code).toBe("POLICY_INVALID");
    for (const principal of [
      { ...botAgent, claims: evil },
      { ...botAgent, capabilities: [evil] },
    ])
      expect((await rejectedFault(engine.submit({ steps: [] }, { principal }))).code).toBe("AUTH_FORBIDDEN");
    untouched();
  });
});
