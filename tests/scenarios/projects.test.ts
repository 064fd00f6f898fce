import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine/api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { actor, eventsOf, faultOf } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const facts = defineSlice({ name: "facts", shape: "map", entry: {} });
const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: { type: "string" } });
const slices = [facts, diary];
const project = "a/b.c~d";
const deep = { "x.y": { "p/q": [{ "~": 1 }] } };

const learns = () =>
  actor(
    "learn",
    ({ input, context }) => {
      const { key, value = null } = input;
      context.slice(facts).set(String(key), value);
      context.slice(diary).append(String(key));
      return {};
    },
    { effect: "writes" },
  );
const sends = () => actor("send", () => ({}));
const learn = (key: string, value: unknown = key) => ({
  steps: [{ step_id: "say", name: "learn", payload: { key, value } }],
});
const send = { steps: [{ step_id: "send", name: "send", payload: {} }] };

async function open(stage: ReturnType<(typeof places)[number]["newStage"]>) {
  const [learner, sender] = [learns(), sends()];
  const engine = await stage.open({ tools: [learner.tool, sender.tool], slices });
  const says = async (key: string, value: unknown = key) => {
    const run = await engine.submit(learn(key, value), { principal: bot, project });
    return { run, result: await run.result() };
  };
  return { engine, says, learner, sender };
}

const factsOf = async (engine: Engine, version?: number) => {
  const state = await engine.state({ principal: bot, project, ...(version !== undefined && { version }) });
  return Object.fromEntries(state.slice(facts).all());
};

describe.each(places)("a project, on $name", ({ newStage }) => {
  it("has a history: each version with its patch, the call, whose it was and when", async () => {
    const { engine, says } = await open(newStage());
    const { run } = await says("k/1.2", deep);
    await says("b");
    const [second, first, ...rest] = await engine.projects.history(project, { principal: ana });
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
    expect(await engine.projects.history(project, { principal: ana, limit: 1 })).toMatchObject([{ version: 2 }]);
    expect(await engine.projects.history(project, { principal: ana, before: 2 })).toMatchObject([{ version: 1 }]);
    expect(await engine.projects.history("none", { principal: ana })).toEqual([]);
    expect(await engine.projects.history(project, { principal: { ...ana, tenant: "other" } })).toEqual([]);
    expect(await factsOf(engine, 1)).toEqual({ "k/1.2": deep });
  });

  it.each([
    ["locked", "PROJECT_LOCKED"],
    ["archived", "PROJECT_ARCHIVED"],
  ] as const)("that is %s refuses, on the record, until a person opens it", async (as, code) => {
    const stage = newStage();
    const { engine, says, learner, sender } = await open(stage);
    await says("a");
    await engine.projects.close(project, { principal: ana, as, reason: "over" });
    expect(await engine.projects.closure(project, { principal: ana })).toMatchObject({ how: as, by: "ana" });
    const { run, result } = await says("b");
    expect(result.status).toBe("failed");
    expect(await eventsOf(run, "step.rejected")).toMatchObject([
      { rule: "project_open", fault: { code, message: expect.stringContaining(`was ${as} by ana (over)`) } },
    ]);
    const acts = await engine.submit(send, { principal: bot, project });
    expect((await acts.result()).steps.send).toMatchObject({ state: "rejected", fault: { code } });
    const reverted = await engine.projects.revert(project, 0, { principal: ana });
    expect(reverted.step).toMatchObject({ state: "rejected", fault: { code } });
    expect(await factsOf(engine)).toEqual({ a: "a" });
    expect([learner.calls.length, sender.calls.length]).toEqual([1, 0]);
    const elsewhere = await engine.submit(learn("c"), { principal: bot, project: "other" });
    expect((await elsewhere.result()).status).toBe("completed");
    await engine.projects.open(project, { principal: ana });
    expect(await engine.projects.closure(project, { principal: ana })).toBeNull();
    expect((await says("d")).result.status).toBe("completed");
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });

  it("that is closed while an act is on its way is met by it before it begins, whatever the worker knew", async () => {
    const stage = newStage();
    const { engine, sender } = await open(stage);
    const office = await stage.open({ tools: [sender.tool], slices, work: false });
    expect((await (await engine.submit(send, { principal: bot, project })).result()).status).toBe("completed");
    await office.projects.close(project, { principal: ana, as: "locked" });
    const run = await engine.submit({ steps: [{ ...send.steps[0], payload: { n: 2 } }] }, { principal: bot, project });
    expect((await run.result()).steps.send).toMatchObject({ fault: { code: "PROJECT_LOCKED" } });
    expect(sender.calls).toHaveLength(1);
  });

  it("is reverted to any version as a new one, by a run like any other, and nothing is deleted", async () => {
    const stage = newStage();
    const { engine, says, sender } = await open(stage);
    for (const key of ["a", "b.c/d", "e"]) await says(key, deep);
    const { step, run_id } = await engine.projects.revert(project, 2, { principal: ana });
    expect(step.state).toBe("succeeded");
    expect(await factsOf(engine)).toEqual({ a: deep, "b.c/d": deep });
    expect(await factsOf(engine, 3)).toEqual({ a: deep, "b.c/d": deep, e: deep });
    const [latest, ...before] = await engine.projects.history(project, { principal: ana });
    expect(latest).toMatchObject({ version: 4, run_id, tool: "state.load", by: "ana" });
    expect(before.map(({ version }) => version)).toEqual([3, 2, 1]);
    // What was said to logs happened, and no effect follows from going back.
    const state = await engine.state({ principal: bot, project });
    expect(state.slice(diary).all()).toEqual(["a", "b.c/d", "e"]);
    expect(sender.calls).toHaveLength(0);
    await engine.projects.revert(project, 0, { principal: ana });
    expect(await factsOf(engine)).toEqual({});
  });

  it("is reverted only to a version of its own that there is, under the rules of the tenant", async () => {
    const stage = newStage();
    const { engine, says } = await open(stage);
    await says("a");
    const revert = (version: number, more: object = {}) =>
      engine.projects.revert(project, version, { principal: ana, ...more });
    expect((await faultOf(revert(2))).code).toBe("CHECKPOINT_NOT_FOUND");
    expect((await faultOf(revert(-1))).code).toBe("INVALID_INPUT");
    expect((await faultOf(engine.projects.revert("other", 1, { principal: ana }))).code).toBe("CHECKPOINT_NOT_FOUND");
    const rules = [{ id: "no", kind: "deny", on: { tools: ["state.load"] } }];
    await engine.policies.set(
      { schema_version: "1.0", name: "house", scope: { tenant: "acme" }, rules },
      { principal: ana },
    );
    expect((await revert(0)).step).toMatchObject({ state: "rejected", fault: { code: "POLICY_DENIED" } });
    expect(await factsOf(engine)).toEqual({ a: "a" });
  });

  it("lets what was done in it be undone, though it is closed; nobody goes back in it", async () => {
    const undone: number[] = [];
    const sender = actor("send", () => ({}), { compensate: async () => void undone.push(1) });
    const learner = learns();
    const engine = await newStage().open({ tools: [sender.tool, learner.tool], slices });
    const run = await engine.submit({ steps: [...send.steps, ...learn("a").steps] }, { principal: bot, project });
    await run.result();
    await engine.projects.close(project, { principal: ana, as: "archived" });
    await engine.resolve(run.run_id, "send", { principal: ana, as: "undo" });
    expect((await run.result()).steps.send).toMatchObject({ state: "compensated" });
    expect(undone).toEqual([1]);
    const back = engine.checkpoints.restore({ runId: run.run_id, stepId: "say", side: "before" }, { principal: ana });
    expect((await faultOf(back)).code).toBe("PROJECT_ARCHIVED");
  });

  it("is a person's to close and to open", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const before = await stage.dump();
    const close = (more: object) => engine.projects.close(project, { principal: ana, as: "locked", ...more } as never);
    expect((await faultOf(close({ principal: bot }))).code).toBe("AUTH_FORBIDDEN");
    expect((await faultOf(close({ as: "shut" }))).code).toBe("INVALID_INPUT");
    expect((await faultOf(engine.projects.close("", { principal: ana, as: "locked" }))).code).toBe("INVALID_INPUT");
    expect((await faultOf(engine.projects.open(project, { principal: bot }))).code).toBe("AUTH_FORBIDDEN");
    expect((await faultOf(engine.projects.open(project, { principal: ana }))).code).toBe("NOT_POSSIBLE");
    expect(await stage.dump()).toEqual(before);
    await close({});
    await close({ reason: "again" });
    await close({ as: "archived" });
    expect(await engine.projects.closure(project, { principal: ana })).toMatchObject({ how: "archived", reason: "" });
    expect(await engine.projects.closure(project, { principal: { ...ana, tenant: "other" } })).toBeNull();
  });
});
