import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const facts = defineSlice({ name: "facts", shape: "map", entry: {} });
const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: { type: "string" } });
const slices = [facts, diary];
const project = "a/b.c~d";
const deep = { "x.y": { "p/q": [{ "~": 1 }] } };

const learns = () =>
  scriptedTool(
    "learn",
    ({ input, context }) => {
      const { key, value = null } = input;
      context.slice(facts).set(String(key), value);
      context.slice(diary).append(String(key));
      return {};
    },
    { effect: "writes" },
  );
const sends = () => scriptedTool("send", () => ({}));
const learn = (key: string, value: unknown = key) => ({
  steps: [{ step_id: "say", name: "learn", payload: { key, value } }],
});
const send = { steps: [{ step_id: "send", name: "send", payload: {} }] };

async function open(stage: ReturnType<(typeof storeKinds)[number]["newFixture"]>) {
  const [learner, sender] = [learns(), sends()];
  const engine = await stage.open({ tools: [learner.tool, sender.tool], slices });
  const says = async (key: string, value: unknown = key) => {
    const run = await engine.submit(learn(key, value), { principal: botAgent, project });
    return { run, result: await run.result() };
  };
  return { engine, says, learner, sender };
}

const factsOf = async (engine: Engine, version?: number) => {
  const state = await engine.state({ principal: botAgent, project, ...(version !== undefined && { version }) });
  return Object.fromEntries(state.slice(facts).all());
};

describe.each(storeKinds)("project, on $name", ({ newFixture: newStage }) => {
  it("is listed with its latest version and its lock, by name and in pages", async () => {
    const { engine, says } = await open(newStage());
    await says("a");
    const { run } = await says("b");
    await (await engine.submit(learn("c"), { principal: botAgent, project: "z" })).result();
    await (await engine.submit(learn("d"), { principal: botAgent })).result();
    await engine.projects.close("z", { principal: anaPerson, as: "locked", reason: "audit" });
    const all = await engine.projects.list({ principal: anaPerson });
    expect(all).toMatchObject([
      { project, version: 2, run_id: run.run_id, closure: null },
      { project: "z", version: 1, closure: { how: "locked", reason: "audit" } },
    ]);
    expect(await engine.projects.list({ principal: anaPerson, limit: 1, after: project })).toMatchObject([all[1]]);
    expect(await engine.projects.list({ principal: { ...anaPerson, tenant: "globex" } })).toEqual([]);
  });

  it("has a history: each version with its patch, call, principal and time", async () => {
    const { engine, says } = await open(newStage());
    const { run } = await says("k/1.2", deep);
    await says("b");
    const [second, first, ...rest] = await engine.projects.history(project, { principal: anaPerson });
    expect(rest).toEqual([]);
    expect(first).toEqual({
      version: 1,
      at: expect.any(Number),
      run_id: run.run_id,
      step_id: "say",
      tool: "learn",
      by: "bot",
      type: "step.succeeded",
      patch: expect.any(Array),
    });
    expect(second).toMatchObject({ version: 2, by: "bot" });
    expect(JSON.stringify(first?.patch)).toContain("k~11.2");
    expect(await engine.projects.history(project, { principal: anaPerson, limit: 1 })).toMatchObject([{ version: 2 }]);
    expect(await engine.projects.history(project, { principal: anaPerson, before: 2 })).toMatchObject([{ version: 1 }]);
    expect(await engine.projects.history("none", { principal: anaPerson })).toEqual([]);
    expect(await engine.projects.history(project, { principal: { ...anaPerson, tenant: "other" } })).toEqual([]);
    expect(await factsOf(engine, 1)).toEqual({ "k/1.2": deep });
  });

  it.each([
    ["locked", "PROJECT_LOCKED"],
    ["archived", "PROJECT_ARCHIVED"],
  ] as const)("that is %s refuses calls, records it, and accepts them after a person opens it", async (as, code) => {
    const stage = newStage();
    const { engine, says, learner, sender } = await open(stage);
    await says("a");
    await engine.projects.close(project, { principal: anaPerson, as, reason: "over" });
    expect(await engine.projects.closure(project, { principal: anaPerson })).toMatchObject({ how: as, by: "ana" });
    const { run, result } = await says("b");
    expect(result.status).toBe("failed");
    expect(await collectEvents(run, "step.rejected")).toMatchObject([
      { rule: "project_open", fault: { code, message: expect.stringContaining(`was ${as} by ana (over)`) } },
    ]);
    const acts = await engine.submit(send, { principal: botAgent, project });
    expect((await acts.result()).steps.send).toMatchObject({ state: "rejected", fault: { code } });
    const reverted = await engine.projects.revert(project, 0, { principal: anaPerson });
    expect(reverted.step).toMatchObject({ state: "rejected", fault: { code } });
    expect(await factsOf(engine)).toEqual({ a: "a" });
    expect([learner.calls.length, sender.calls.length]).toEqual([1, 0]);
    const elsewhere = await engine.submit(learn("c"), { principal: botAgent, project: "other" });
    expect((await elsewhere.result()).status).toBe("completed");
    await engine.projects.open(project, { principal: anaPerson });
    expect(await engine.projects.closure(project, { principal: anaPerson })).toBeNull();
    expect((await says("d")).result.status).toBe("completed");
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("that is locked during a call stops the act before it starts, whatever the worker knew", async () => {
    const stage = newStage();
    const { engine, sender } = await open(stage);
    const office = await stage.open({ tools: [sender.tool], slices, work: false });
    expect((await (await engine.submit(send, { principal: botAgent, project })).result()).status).toBe("completed");
    await office.projects.close(project, { principal: anaPerson, as: "locked" });
    const run = await engine.submit(
      { steps: [{ ...send.steps[0], payload: { n: 2 } }] },
      { principal: botAgent, project },
    );
    expect((await run.result()).steps.send).toMatchObject({ fault: { code: "PROJECT_LOCKED" } });
    expect(sender.calls).toHaveLength(1);
  });

  it("is reverted to any version as a new version, by a run, and nothing is deleted", async () => {
    const stage = newStage();
    const { engine, says, sender } = await open(stage);
    for (const key of ["a", "b.c/d", "e"]) await says(key, deep);
    const { step, run_id } = await engine.projects.revert(project, 2, { principal: anaPerson });
    expect(step.state).toBe("succeeded");
    expect(await factsOf(engine)).toEqual({ a: deep, "b.c/d": deep });
    expect(await factsOf(engine, 3)).toEqual({ a: deep, "b.c/d": deep, e: deep });
    const [latest, ...before] = await engine.projects.history(project, { principal: anaPerson });
    expect(latest).toMatchObject({ version: 4, run_id, tool: "projects.revert", by: "ana" });
    expect(before.map(({ version }) => version)).toEqual([3, 2, 1]);
    // Entries of logs stay, and a revert has no effect outside.
    const state = await engine.state({ principal: botAgent, project });
    expect(state.slice(diary).all()).toEqual(["a", "b.c/d", "e"]);
    expect(sender.calls).toHaveLength(0);
    await engine.projects.revert(project, 0, { principal: anaPerson });
    expect(await factsOf(engine)).toEqual({});
  });

  it("is reverted only to its own existing version, under the rules of the tenant", async () => {
    const stage = newStage();
    const { engine, says } = await open(stage);
    await says("a");
    const revert = (version: number, more: object = {}) =>
      engine.projects.revert(project, version, { principal: anaPerson, ...more });
    expect((await rejectedFault(revert(2))).code).toBe("CHECKPOINT_NOT_FOUND");
    expect((await rejectedFault(revert(-1))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(engine.projects.revert("other", 1, { principal: anaPerson }))).code).toBe(
      "CHECKPOINT_NOT_FOUND",
    );
    const rules = [{ id: "no", kind: "deny", on: { tools: ["projects.revert"] } }];
    await engine.policies.set(
      { schema_version: "1.0", name: "house", scope: { tenant: "acme" }, rules },
      { principal: anaPerson },
    );
    expect((await revert(0)).step).toMatchObject({ state: "rejected", fault: { code: "POLICY_DENIED" } });
    expect(await factsOf(engine)).toEqual({ a: "a" });
  });

  it("allows undo while it is locked, and no restore", async () => {
    const undone: number[] = [];
    const sender = scriptedTool("send", () => ({}), { compensate: async () => void undone.push(1) });
    const learner = learns();
    const engine = await newStage().open({ tools: [sender.tool, learner.tool], slices });
    const run = await engine.submit({ steps: [...send.steps, ...learn("a").steps] }, { principal: botAgent, project });
    await run.result();
    await engine.projects.close(project, { principal: anaPerson, as: "archived" });
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    expect((await run.result()).steps.send).toMatchObject({ state: "compensated" });
    expect(undone).toEqual([1]);
    const back = engine.checkpoints.restore(
      { runId: run.run_id, stepId: "say", side: "before" },
      { principal: anaPerson },
    );
    expect((await rejectedFault(back)).code).toBe("PROJECT_ARCHIVED");
  });

  it("is locked and opened by a person", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const before = await stage.dump();
    const close = (more: object) =>
      engine.projects.close(project, { principal: anaPerson, as: "locked", ...more } as never);
    expect((await rejectedFault(close({ principal: botAgent }))).code).toBe("AUTH_FORBIDDEN");
    expect((await rejectedFault(close({ as: "shut" }))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(engine.projects.close("", { principal: anaPerson, as: "locked" }))).code).toBe(
      "INVALID_INPUT",
    );
    expect((await rejectedFault(engine.projects.open(project, { principal: botAgent }))).code).toBe("AUTH_FORBIDDEN");
    expect((await rejectedFault(engine.projects.open(project, { principal: anaPerson }))).code).toBe("NOT_POSSIBLE");
    expect(await stage.dump()).toEqual(before);
    await close({});
    await close({ reason: "again" });
    await close({ as: "archived" });
    expect(await engine.projects.closure(project, { principal: anaPerson })).toMatchObject({
      how: "archived",
      reason: "",
    });
    expect(await engine.projects.closure(project, { principal: { ...anaPerson, tenant: "other" } })).toBeNull();
  });
});
