import { describe, expect, it } from "vitest";
import { verbRules } from "../../src/core/approval/verb-rules.ts";
import { type Store, sharedTenant } from "../../src/core/store/store.ts";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";
import type { Engine, PrincipalInput } from "../../src/engine/api/engine-api.ts";
import { type HoldableVerb, holdableVerbs } from "../../src/engine/api/verb-arguments.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { collectEvents, deferred, rejectedFault, scriptedTool } from "./scripted-tool.ts";
import { chief, newWorld, type Options, policy, samples, tenant } from "./verb-samples.ts";

const asker: PrincipalInput = { id: "amy", kind: "person", tenant, roles: ["chief"] };
const bo: PrincipalInput = { id: "bo", kind: "person", tenant, roles: ["chief"] };

function ruleFor(tools: readonly string[], kind: "deny" | "approval") {
  return { ...policy("calm"), rules: [{ id: "calm", kind, on: { tools }, reason: "not today" }] };
}

/** Returns the number of events of a type, in all journals. */
async function countEvents(stage: EngineFixture, type: string | null): Promise<number> {
  const store = stage.store();
  let found = 0;
  for (const owner of [tenant as Tenant, sharedTenant])
    for (const journal of await store.runs(owner, "", 500))
      for (const event of await store.events(owner, journal as RunId, 0)) if (event.type === type) found += 1;
  return found;
}

/** A store that calls `interrupt` before the first append after `arm`. */
function interruptedStore(real: Store, interrupt: () => Promise<void>): { readonly store: Store; arm(): void } {
  let armed = false;
  const append: Store["append"] = async (entries) => {
    if (armed) {
      armed = false;
      await interrupt();
    }
    return real.append(entries);
  };
  const arm = () => {
    armed = true;
  };
  return { store: { ...real, append }, arm };
}

/** Only a store in a file can be copied. `schedules.resume` finds the schedule on, so it appends nothing. */
const changesNothing = (verb: HoldableVerb, store: string): boolean =>
  verb === "schedules.resume" || (verb === "backup" && store !== "SQLite");

describe.each(storeKinds)("a policy that changes while a verb is used, on $name", ({ name, newFixture }) => {
  const verbs = holdableVerbs.filter((verb) => !changesNothing(verb, name));

  it.each(verbs)("%s is judged by the policies of its append", async (verb) => {
    const stage = newFixture();
    let other: Engine | null = null;
    const { store, arm } = interruptedStore(stage.store(), async () => {
      await other?.policies.set(ruleFor([verb], "deny"), { principal: chief });
    });
    const world = await newWorld(stage, { store });
    const use = await samples[verb].prepare(world);
    other = await stage.open({ tools: [], work: false, tenants: { acme: { admin: "chief" } } });
    const before = await countEvents(stage, verbRules[verb].records);
    arm();
    const refused = await rejectedFault(Promise.resolve().then(() => use({ principal: asker } as Options)));
    expect(refused).toMatchObject({ code: "POLICY_DENIED", message: expect.stringContaining("not today") });
    // The other process has set one policy, and the refusal is on record as a run.
    const recorded = { "policy.set": 1, "run.accepted": 1 }[verbRules[verb].records as string] ?? 0;
    expect(await countEvents(stage, verbRules[verb].records)).toBe(before + recorded);
    expect(await world.engine.audit({ principal: chief })).toMatchObject({ broken: [], rows: [] });
  });
});

/** A run of three acts that can be undone, and a policy that holds undos. */
async function heldUndo(stage: EngineFixture, compensate: (input: unknown) => unknown, concurrency = 8) {
  const { tool } = scriptedTool("book", () => ({}), {
    compensate: async ({ input }) => void (await compensate(input)),
    errorsMean: "not_done",
  });
  const open = () => stage.open({ tools: [tool], tenants: { acme: { trust: ["book"] } }, limits: { concurrency } });
  const engine = await open();
  const names = ["a", "b", "c"];
  const steps = names.map((step_id, nth) => ({
    step_id,
    name: "book",
    payload: { step_id },
    depends_on: names.slice(0, nth).slice(-1),
  }));
  const run = await engine.submit({ steps }, { principal: botAgent });
  await run.result();
  await engine.policies.set(ruleFor(["undo"], "approval"), { principal: chief });
  const held = await rejectedFault(engine.undo(run.run_id, { principal: anaPerson, reason: "off" }));
  expect(held.code).toBe("HELD_FOR_APPROVAL");
  return { engine, open, run, held: held.detail as { gate_id: string; run_id: string } };
}

describe.each(storeKinds)("a held undo, on $name", ({ newFixture }) => {
  it("undoes the acts latest first, also on a worker with one handler slot", async () => {
    const stage = newFixture();
    const undone: unknown[] = [];
    const { engine, run, held } = await heldUndo(stage, (input) => undone.push(input), 1);
    expect(undone).toEqual([]);
    await engine.approve(held.gate_id, { principal: bo });
    const request = await engine.run(held.run_id, { principal: anaPerson });
    await stage.runUntilIdle(request);
    expect(undone).toEqual([{ step_id: "c" }, { step_id: "b" }, { step_id: "a" }]);
    expect(await request.now()).toMatchObject({
      status: "completed",
      steps: { request: { output: { acts: [{ step_id: "c" }, { step_id: "b" }, { step_id: "a" }] } } },
    });
    expect(await collectEvents(run, "run.undone")).toMatchObject([{ by: "ana", reason: "off", held_in: held.run_id }]);
  });

  it("is continued by the next engine if its engine closes, and requests no undo twice", async () => {
    const stage = newFixture();
    const [begun, proceeds] = [deferred<void>(), deferred<void>()];
    const undone: unknown[] = [];
    const { engine, open, run, held } = await heldUndo(stage, async (input) => {
      undone.push(input);
      if (undone.length > 1) return;
      begun.keep();
      await proceeds.promise;
      throw new Error("the bank is closed");
    });
    await engine.approve(held.gate_id, { principal: bo });
    await begun.promise;
    const closing = engine.close();
    proceeds.keep();
    await closing;
    const next = await open();
    const request = await next.run(held.run_id, { principal: anaPerson });
    await stage.runUntilIdle(request);
    expect(await request.now()).toMatchObject({
      status: "completed",
      steps: {
        request: { output: { acts: [{ undone: "failed" }, { undone: "unconfirmed" }, { undone: "unconfirmed" }] } },
      },
    });
    expect(undone).toEqual([{ step_id: "c" }, { step_id: "b" }, { step_id: "a" }]);
    const again = await next.run(run.run_id, { principal: anaPerson });
    expect(await collectEvents(again, "step.compensating")).toHaveLength(3);
    expect(await next.audit({ principal: chief })).toMatchObject({ broken: [], rows: [] });
  });
});

describe.each(storeKinds)("a held resolution, on $name", ({ newFixture }) => {
  it("is about the attempt that its asker saw, and shows it at the gate", async () => {
    const world = await newWorld(newFixture());
    const { engine } = world;
    const use = await samples.resolve.prepare(world);
    await engine.policies.set(ruleFor(["resolve"], "approval"), { principal: chief });
    const held = await rejectedFault(Promise.resolve().then(() => use({ principal: asker } as Options)));
    const { gate_id } = held.detail as { gate_id: string };
    expect(await engine.gate(gate_id, { principal: chief })).toMatchObject({
      tool: "resolve",
      input: { step_id: "a", as: "absent", attempt: 1 },
    });
  });

  it("is refused before anyone is asked if the step does not exist or its output does not fit", async () => {
    const world = await newWorld(newFixture());
    const { engine } = world;
    await samples.resolve.prepare(world);
    const [{ run_id } = { run_id: "" }] = await engine.runs({ principal: chief });
    await engine.policies.set(ruleFor(["resolve", "undo", "resume:parked"], "approval"), { principal: chief });
    const missing = await rejectedFault(engine.resolve(run_id, "zz", { principal: asker, as: "absent" }));
    expect(missing.code).toBe("STEP_NOT_FOUND");
    expect((await rejectedFault(engine.undo("run_0", { principal: asker }))).code).toBe("RUN_NOT_FOUND");
    expect((await rejectedFault(engine.resume("run_0", { principal: asker }))).code).toBe("RUN_NOT_FOUND");
    expect(await engine.gates({ principal: chief })).toEqual([]);
  });

  it("of an act as undone is judged by rules about undo, too", async () => {
    const stage = newFixture();
    const undone: unknown[] = [];
    const { engine, run } = await heldUndo(stage, (input) => undone.push(input));
    const undo = () => engine.resolve(run.run_id, "a", { principal: anaPerson, as: "undo" });
    expect((await rejectedFault(undo())).code).toBe("HELD_FOR_APPROVAL");
    await engine.policies.set(ruleFor(["undo"], "deny"), { principal: chief });
    expect((await rejectedFault(undo())).code).toBe("POLICY_DENIED");
    expect(undone).toEqual([]);
  });

  it("leaves a rule for all calls without effect on resolutions, undos and releases", async () => {
    const world = await newWorld(newFixture());
    const use = await samples.resolve.prepare(world);
    await world.engine.policies.set({ ...policy("calm"), rules: [{ id: "no", kind: "deny" }] }, { principal: chief });
    expect(await Promise.resolve().then(() => use({ principal: asker } as Options))).toBeUndefined();
  });
});
