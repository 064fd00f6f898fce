import { describe, expect, it } from "vitest";
import { verbRules } from "../../src/core/approval/verb-rules.ts";
import { type Store, sharedTenant } from "../../src/core/store/store.ts";
import { FaultError } from "../../src/core/values/fault.ts";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";
import type { JsonObject } from "../../src/core/values/json.ts";
import type { PrincipalInput } from "../../src/engine/api/engine-api.ts";
import { heldGate } from "../../src/engine/api/held-gate.ts";
import { type HoldableVerb, holdableVerbs } from "../../src/engine/api/verb-arguments.ts";
import { type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { rejectedFault } from "./scripted-tool.ts";
import { chief, newWorld, type Options, policy, principals, samples, tenant, type World } from "./verb-samples.ts";

/** A person with the admin role, but without the role of operators, whom no policy keeps from changing policies. */
const asker: PrincipalInput = { id: "amy", kind: "person", tenant, roles: ["chief"] };
const approver = principals.person as PrincipalInput;

interface HeldVerb {
  readonly gate_id: string;
  readonly run_id: string;
}

function holding(tools: readonly string[], more: JsonObject = {}) {
  return { ...policy("calm"), rules: [{ id: "calm", kind: "approval", on: { tools }, reason: "ask first", ...more }] };
}

/** Uses the verb, which a policy holds, and returns the gate. */
async function hold(world: World, verb: HoldableVerb, by: PrincipalInput = asker): Promise<HeldVerb> {
  const use = await samples[verb].prepare(world);
  await world.engine.policies.set(holding([verb]), { principal: chief });
  const held = await rejectedFault(Promise.resolve().then(() => use({ principal: by } as Options)));
  expect(heldGate(new FaultError(held))).toEqual(held.detail);
  expect(heldGate(new Error("other"))).toBeNull();
  expect(held).toMatchObject({ code: "HELD_FOR_APPROVAL", message: expect.stringContaining("ask first") });
  return held.detail as unknown as HeldVerb;
}

/** Returns the types of the events that executed the request, in all journals. */
async function executions(stage: EngineFixture, run: string): Promise<readonly string[]> {
  const store = stage.store();
  const found: string[] = [];
  for (const owner of [tenant as Tenant, sharedTenant])
    for (const journal of await store.runs(owner, "", 500))
      for (const { type, body } of await store.events(owner, journal as RunId, 0))
        if (body?.includes(`"held_in":"${run}"`)) found.push(type);
  return found;
}

/** Lets time pass until the run has ended, or waits for another approval. A backup uses real files. */
async function finished({ engine, stage }: World, run: string) {
  const handle = await engine.run(run, { principal: chief });
  for (;;) {
    const now = await handle.now();
    if (now.final || now.gates.length > 0) return now;
    await passTime(stage);
  }
}

async function passTime(stage: EngineFixture): Promise<void> {
  await stage.advance(50);
  await new Promise((resolve) => setImmediate(resolve));
}

/** Only a store in a file can be copied. */
const isPossible = (verb: HoldableVerb, store: string): boolean => verb !== "backup" || store === "SQLite";

/** `schedules.resume` finds the schedule on, so it changes nothing. */
const changesNothing = (verb: HoldableVerb): boolean => verb === "schedules.resume";

describe.each(storeKinds)("a verb that a policy holds, on $name", ({ name, newFixture }) => {
  it.each(holdableVerbs)("%s waits at a gate that shows its arguments, for one request only", async (verb) => {
    const world = await newWorld(newFixture());
    const { gate_id, run_id } = await hold(world, verb);
    const gate = await world.engine.gate(gate_id, { principal: chief });
    expect(gate).toMatchObject({ tool: verb, requester: "amy", run_id, status: "open", reason: expect.anything() });
    expect(gate.reversible ?? null).toBe(["retain", "forget"].includes(verb) ? false : null);
    expect(await executions(world.stage, run_id)).toEqual([]);
    const own = await rejectedFault(world.engine.approve(gate_id, { principal: asker }));
    expect(own.code).toBe("AUTH_FORBIDDEN");
    expect(await world.engine.audit({ principal: chief })).toMatchObject({ broken: [], rows: [] });
  });

  it.each(holdableVerbs)("%s is executed once after an approval", async (verb) => {
    const world = await newWorld(newFixture());
    const { gate_id, run_id } = await hold(world, verb);
    await world.engine.approve(gate_id, { principal: approver });
    const { status, steps } = await finished(world, run_id);
    if (!isPossible(verb, name)) {
      expect(steps.request).toMatchObject({ state: "failed_final", fault: { code: "NOT_POSSIBLE" } });
      return;
    }
    expect(status, JSON.stringify(steps)).toBe("completed");
    const { records } = verbRules[verb];
    expect(await executions(world.stage, run_id)).toEqual(changesNothing(verb) ? [] : [records]);
    expect(await world.engine.gate(gate_id, { principal: chief })).toMatchObject({ status: "consumed" });
    expect(await world.engine.audit({ principal: chief })).toMatchObject({ broken: [], rows: [] });
  });

  it.each(holdableVerbs)("%s is not executed after a rejection", async (verb) => {
    const world = await newWorld(newFixture());
    const { gate_id, run_id } = await hold(world, verb);
    await world.engine.reject(gate_id, { principal: approver, reason: "no" });
    const { steps } = await finished(world, run_id);
    expect(steps.request).toMatchObject({ state: "rejected", fault: { code: "GATE_REJECTED" } });
    expect(await executions(world.stage, run_id)).toEqual([]);
  });

  it.each(holdableVerbs)("%s is executed once if its worker dies right after it", async (verb) => {
    const stage = newFixture();
    let dies = true;
    const failpoint = (point: string) => {
      if (point !== "verb.after" || !dies) return;
      dies = false;
      void stage.crash();
    };
    const world = await newWorld(stage, { failpoint });
    const { gate_id, run_id } = await hold(world, verb);
    await world.engine.approve(gate_id, { principal: approver });
    if (isPossible(verb, name)) while (dies) await passTime(stage);
    stage.loseLeases();
    const next = await newWorld(stage);
    const { steps } = await finished(next, run_id);
    if (!isPossible(verb, name)) return;
    expect(steps.request, JSON.stringify(steps)).toMatchObject({ state: "succeeded" });
    expect(await executions(stage, run_id)).toEqual(changesNothing(verb) ? [] : [verbRules[verb].records]);
  });
});

describe.each(storeKinds)("a held verb whose store fails, on $name", ({ name, newFixture }) => {
  const codes = ["STORE_FAILED", "STORE_UNKNOWN"] as const;

  it.each(holdableVerbs.flatMap((verb) => codes.map((code) => [verb, code] as const)))(
    "%s is executed once if its first append answers %s",
    async (verb, code) => {
      const stage = newFixture();
      const real = stage.store();
      let fails = false;
      const append: Store["append"] = async (entries) => {
        if (!fails) return real.append(entries);
        fails = false;
        if (code === "STORE_UNKNOWN") await real.append(entries);
        throw new FaultError({ code, message: "the connection broke" });
      };
      const failpoint = (point: string) => {
        if (point === "verb.before") fails = true;
      };
      const world = await newWorld(stage, { store: { ...real, append }, failpoint });
      const { gate_id, run_id } = await hold(world, verb);
      await world.engine.approve(gate_id, { principal: approver });
      const { steps } = await finished(world, run_id);
      if (!isPossible(verb, name)) return;
      expect(steps.request, JSON.stringify(steps)).toMatchObject({ state: "succeeded" });
      expect(await executions(stage, run_id)).toEqual(changesNothing(verb) ? [] : [verbRules[verb].records]);
    },
  );
});

describe.each(storeKinds)("policies about verbs, on $name", ({ newFixture }) => {
  const catchAll = [
    ["a rule for all calls", { rules: [{ id: "no", kind: "deny" }] }],
    ["a rule for *", { rules: [{ id: "no", kind: "approval", on: { tools: ["*"] } }] }],
    ["an allow rule for other tools", { rules: [{ id: "only", kind: "allow", on: { tools: ["mail"] } }] }],
    ["a list of other roles", { roles: ["cook"], rules: [] }],
  ] as const;

  it.each(catchAll)("leave administration alone, and judge changes of data, with %s", async (_, part) => {
    const world = await newWorld(newFixture());
    const { engine } = world;
    await engine.policies.set({ ...policy("calm"), ...part }, { principal: asker });
    const refused = await rejectedFault(engine.retain({ principal: asker, endedBefore: 0 }));
    expect(["POLICY_DENIED", "HELD_FOR_APPROVAL"]).toContain(refused.code);
    await engine.halts.set({ principal: asker, reason: "stop" });
    await engine.halts.lift({ principal: asker });
    await engine.policies.remove("calm", { principal: asker });
    expect(await engine.retain({ principal: asker, endedBefore: 0 })).toMatchObject({ runs: 0 });
  });

  it("let a person with the role operator change policies that hold every change of policies", async () => {
    const { engine } = await newWorld(newFixture());
    await engine.policies.set(holding(["policies.*"]), { principal: asker });
    expect((await rejectedFault(engine.policies.remove("calm", { principal: asker }))).code).toBe("HELD_FOR_APPROVAL");
    await engine.policies.remove("calm", { principal: chief });
    expect(await engine.policies.list({ principal: chief })).toEqual([]);
  });

  it("are not asked about a halt, which stops work at once", async () => {
    const { engine } = await newWorld(newFixture());
    await engine.policies.set(holding(["halts.*"]), { principal: chief });
    await engine.halts.set({ principal: asker, reason: "stop" });
    expect(await engine.halts.list({ principal: chief })).toHaveLength(1);
    expect((await rejectedFault(engine.halts.lift({ principal: asker }))).code).toBe("HELD_FOR_APPROVAL");
  });

  it("hold a request once while it waits, and again after it was decided", async () => {
    const world = await newWorld(newFixture());
    const { engine } = world;
    await engine.policies.set(holding(["projects.close"]), { principal: chief });
    const close = async (as: "locked" | "archived") =>
      (await rejectedFault(engine.projects.close("p", { principal: asker, as }))).detail as unknown as HeldVerb;
    const first = await close("locked");
    expect(await close("locked")).toEqual(first);
    expect((await close("archived")).gate_id).not.toBe(first.gate_id);
    await engine.reject(first.gate_id, { principal: approver });
    expect((await close("locked")).gate_id).not.toBe(first.gate_id);
  });

  it("execute the arguments that a person approved instead, and no unknown ones", async () => {
    const world = await newWorld(newFixture());
    const { engine } = world;
    const { gate_id, run_id } = await hold(world, "projects.close");
    const approving = (input: JsonObject) => engine.approve(gate_id, { principal: approver, input });
    const unknown = await rejectedFault(approving({ project: "p", ass: "archived" }));
    expect(unknown).toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining("did you mean as?") });
    await approving({ project: "p", as: "archived" });
    await finished(world, run_id);
    const [again] = await engine.gates({ principal: chief });
    if (again !== undefined) await engine.approve(again.gate_id, { principal: approver });
    expect((await finished(world, run_id)).status).toBe("completed");
    expect(await engine.projects.closure("p", { principal: chief })).toMatchObject({ how: "archived", by: "amy" });
  });

  it("refuse an approved request whose arguments belong to another project", async () => {
    const world = await newWorld(newFixture());
    const { engine } = world;
    const { gate_id, run_id } = await hold(world, "projects.close");
    await engine.approve(gate_id, { principal: approver, input: { project: "q", as: "locked" } });
    const { steps } = await finished(world, run_id);
    expect(steps.request).toMatchObject({ state: "failed_final", fault: { code: "NOT_POSSIBLE" } });
    expect(await engine.projects.closure("q", { principal: chief })).toBeNull();
  });

  it("hold a request for as many people as a rule demands, and until its gate expires", async () => {
    const world = await newWorld(newFixture());
    const { engine, stage } = world;
    const demand = { people: 2, within_ms: 60_000 };
    await engine.policies.set(holding(["retain"], demand), { principal: chief });
    const retain = async () =>
      (await rejectedFault(engine.retain({ principal: asker, endedBefore: 0 }))).detail as unknown as HeldVerb;
    const two = await retain();
    await engine.approve(two.gate_id, { principal: approver });
    expect(await executions(stage, two.run_id)).toEqual([]);
    await engine.approve(two.gate_id, { principal: principals["person without role"] as PrincipalInput });
    expect((await finished(world, two.run_id)).status).toBe("completed");
    const late = await retain();
    await stage.advance(61_000);
    const { steps } = await finished(world, late.run_id);
    expect(steps.request).toMatchObject({ state: "rejected", fault: { code: "GATE_EXPIRED" } });
  });

  it("are checked for a request that cannot succeed before anyone is asked", async () => {
    const world = await newWorld(newFixture());
    const { engine } = world;
    const rules = [{ id: "ask", kind: "approval", on: { tools: ["policies.*", "schedules.*", "checkpoints.*"] } }];
    await engine.policies.set({ ...policy("ask"), rules }, { principal: chief });
    const invalid = await rejectedFault(engine.policies.set({ name: "x" }, { principal: asker }));
    expect(invalid.code).toBe("POLICY_INVALID");
    const options = { principal: asker, cron: "every day" };
    const steps = [{ step_id: "a", name: "write", payload: {} }];
    expect((await rejectedFault(engine.schedules.set("s", { steps }, options))).code).toBe("INVALID_INPUT");
    const at = { runId: "run_0", stepId: "a", side: "before" } as const;
    expect((await rejectedFault(engine.checkpoints.restore(at, { principal: asker }))).code).toBe("RUN_NOT_FOUND");
    expect(await engine.gates({ principal: chief })).toEqual([]);
  });

  it("are not circumvented by a plan, a call or an errand that names the verb", async () => {
    const world = await newWorld(newFixture());
    const { engine } = world;
    for (const name of ["retain", "projects.revert"]) {
      const { step } = await engine.call(name, { ended_before: 0 }, { principal: chief });
      expect(step).toMatchObject({ state: "rejected", fault: { code: "TOOL_UNKNOWN" } });
    }
    const steps = [{ step_id: "a", kind: "verb", name: "retain", payload: { ended_before: 0 } }];
    expect((await rejectedFault(engine.submit({ steps }, { principal: chief }))).code).toBe("PLAN_INVALID");
    expect(await engine.retentions({ principal: chief })).toEqual([]);
  });

  it("hold a verb also on an engine that executes nothing", async () => {
    const stage = newFixture();
    const world = await newWorld(stage);
    await world.engine.policies.set(holding(["retain"]), { principal: chief });
    const idle = await stage.open({
      tools: [],
      work: false,
      tenants: { acme: { mode: "human_gated", admin: "chief" } },
    });
    const held = await rejectedFault(idle.retain({ principal: asker, endedBefore: 0 }));
    expect(held.code).toBe("HELD_FOR_APPROVAL");
    const { gate_id, run_id } = held.detail as unknown as HeldVerb;
    await idle.approve(gate_id, { principal: approver });
    for (let second = 0; second < 5; second += 1) await stage.advance(1000);
    expect((await finished(world, run_id)).status).toBe("completed");
  });
});
