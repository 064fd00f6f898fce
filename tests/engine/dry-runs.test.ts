import { describe, expect, it } from "vitest";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const beds = defineSlice({ name: "beds", shape: "map", entry: { type: "object" } });
const at = { principal: botAgent, project: "garden", mode: "dry_run" } as const;
const plan = {
  plan_id: "p1",
  intent_id: "i1",
  steps: [
    { step_id: "look", name: "look", payload: {} },
    { step_id: "send", name: "send", payload: { to: "ana" } },
    { step_id: "put", kind: "state_write", payload: { path: "/beds/north", value: { water: 1 } } },
  ],
};

function cast() {
  const look = scriptedTool("look", () => ({ sky: "grey" }), { effect: "reads" });
  const send = scriptedTool("send", () => ({ id: "m1" }), { cost: { credits: 5 } });
  return { look, send, options: { tools: [look.tool, send.tool], slices: [beds] } };
}

describe.each(storeKinds)("a submitted dry run, on $name", ({ newFixture }) => {
  it("is a run on record that says what the plan would do, and does nothing", async () => {
    const stage = newFixture();
    const { look, send, options } = cast();
    const budgets = [{ unit: "credits", limit: 10, per: "tenant-day" }] as const;
    const engine = await stage.open({ ...options, budgets, tenants: { acme: {} } });
    const run = await engine.submit(plan, { ...at, title: "try" });
    const result = await run.result();
    expect(result).toMatchObject({ status: "completed", final: true, results: [], outcomes: [], versions: null });
    expect(result.simulation?.steps.send).toMatchObject({ would: "act", needs_approval: true });
    expect(result.simulation).toMatchObject({
      status: "unknown",
      steps: { look: { would: "unknown" }, send: { would: "act", needs_approval: true }, put: { would: "succeed" } },
      changes: [{ path: "/beds/north", after: { water: 1 } }],
    });
    expect([look.calls.length, send.calls.length]).toEqual([0, 0]);
    expect((await engine.state({ principal: anaPerson, project: "garden" })).version).toBe(0);
    expect((await engine.budgets({ principal: anaPerson }))[0]?.used).toBe(0);
    const [row] = await engine.runs({ principal: anaPerson });
    expect(row).toMatchObject({ run_id: run.run_id, mode: "dry_run", status: "completed", title: "try" });
    await stage.crash();
    const again = await (await stage.open(options)).run(run.run_id, { principal: anaPerson });
    expect((await again.result()).simulation).toEqual(result.simulation);
    expect((await (await stage.open(options)).audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("uses up no request key, cannot be resumed, and names the run that was made in earnest before", async () => {
    const { options, send } = cast();
    const engine = await newFixture().open({ ...options, tenants: { acme: { mode: "auto_exec" } } });
    const dry = await engine.submit(plan, at);
    expect((await rejectedFault(engine.resume(dry.run_id, { principal: anaPerson }))).code).toBe("NOT_POSSIBLE");
    const { mode: _, ...earnest } = at;
    const run = await engine.submit(plan, earnest);
    await run.result();
    expect(send.calls).toHaveLength(1);
    expect(await rejectedFault(engine.submit(plan, at))).toMatchObject({
      code: "MODE_FORBIDS",
      detail: { run_id: run.run_id },
    });
  });

  it("is what a tenant in dry_run gets for each plan, and a call is refused", async () => {
    const { options, send } = cast();
    const engine = await newFixture().open({ ...options, tenants: { acme: { mode: "dry_run" } } });
    const run = await engine.submit(plan, { principal: botAgent, mode: "auto_exec" });
    expect((await run.result()).simulation?.acts).toHaveLength(1);
    expect((await rejectedFault(engine.call("send", { to: "ana" }, { principal: botAgent }))).code).toBe(
      "MODE_FORBIDS",
    );
    expect(send.calls).toHaveLength(0);
  });
});

describe.each(storeKinds)("a dry run of an atomic plan, on $name", ({ newFixture }) => {
  const sets = { step_id: "put", kind: "state_write", payload: { path: "/beds/north", value: { water: 1 } } };
  const sends = { step_id: "send", name: "send", payload: { to: "ana" } };
  const atomic = (...steps: readonly object[]) => ({ atomicity: "plan", sequential: true, steps });

  it("says what each step would do", async () => {
    const { options, send } = cast();
    const engine = await newFixture().open({ ...options, tenants: { acme: {} } });
    const { simulation, rollback } = await (await engine.submit(atomic(sets, sends), at)).result();
    expect(simulation).toMatchObject({ steps: { put: { would: "succeed" }, send: { would: "act" } } });
    expect(simulation?.changes).toHaveLength(1);
    expect([rollback, send.calls.length]).toEqual([undefined, 0]);
  });

  it("undoes nothing in earnest when the deadline passes in the simulation", async () => {
    const stage = newFixture();
    const undone: unknown[] = [];
    const { tool } = scriptedTool("send", () => ({}), {
      preview: async () => {
        stage.clock.advance(300);
        return { id: "m1" };
      },
      compensate: async (done: unknown) => void undone.push(done),
    });
    const engine = await stage.open({ tools: [tool], slices: [beds], tenants: { acme: {} } });
    const plan = atomic(sends, { ...sends, step_id: "late", payload: { to: "bea" } }, sets);
    const { simulation } = await (await engine.submit(plan, { ...at, deadlineMs: 200 })).result();
    expect(undone).toEqual([]);
    expect(Object.keys(simulation?.steps ?? {})).toEqual(["send", "late", "put"]);
    expect(simulation).toMatchObject({
      status: "failed",
      changes: [],
      steps: { late: { would: "fail", fault: { code: "DEADLINE_EXCEEDED" } } },
    });
  });
});

describe.each(storeKinds)("a dry run with other plans, on $name", ({ newFixture }) => {
  it("is refused, because it simulates one plan", async () => {
    const { options } = cast();
    const replanner = scriptedTool("mend", () => ({ plan: null }), { effect: "reads" });
    const engine = await newFixture().open({
      tools: [...options.tools, replanner.tool],
      slices: [beds],
      tenants: { acme: {} },
    });
    const others = [{ replan: { by: "mend" } }, { fallbacks: [{ steps: plan.steps }] }, { retryFailed: true }];
    for (const other of others) {
      const refused = await rejectedFault(engine.submit(plan, { ...at, ...other }));
      expect(refused).toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining("a dry run") });
    }
    expect(await engine.runs({ principal: anaPerson })).toHaveLength(0);
  });
});

describe.each(storeKinds)("a tenant that trusts roles with auto_exec, on $name", ({ newFixture }) => {
  const acme = { mode: "auto_exec", autoExecRoles: ["operator"] } as const;
  const sends = { steps: [{ step_id: "send", name: "send", payload: { to: "ana" } }] };
  const operator = { ...botAgent, roles: ["operator"] };

  it("holds the acts of all other principals", async () => {
    const { options } = cast();
    const engine = await newFixture().open({ ...options, tenants: { acme } });
    const modes = [];
    for (const principal of [operator, botAgent, { ...botAgent, roles: ["reader"] }]) {
      const run = await engine.submit(sends, { principal, mode: "auto_exec", project: principal.roles?.[0] ?? "none" });
      modes.push((await run.result()).gates.length);
    }
    expect(modes).toEqual([0, 1, 1]);
  });

  it("restricts forks, too", async () => {
    const { options } = cast();
    const engine = await newFixture().open({ ...options, tenants: { acme } });
    const run = await engine.submit(sends, { principal: operator });
    await run.result();
    const place = { runId: run.run_id, stepId: "send", side: "before" } as const;
    const fork = await engine.checkpoints.fork(place, { principal: anaPerson });
    expect((await fork.result()).status).not.toBe("failed");
    const rows = await engine.runs({ principal: anaPerson });
    expect(rows.find(({ run_id }) => run_id === fork.run_id)?.mode).toBe("human_gated");
  });

  it("is refused if the roles are not names", async () => {
    const opening = newFixture().open({ tools: [], tenants: { acme: { autoExecRoles: "operator" as never } } });
    expect((await rejectedFault(opening)).message).toContain("autoExecRoles of acme");
  });
});
