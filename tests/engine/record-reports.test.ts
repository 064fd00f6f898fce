import { describe, expect, it } from "vitest";
import type { EffectKey } from "../../src/core/values/ids.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const auto = { tenants: { acme: { mode: "auto_exec" } } } as const;
const draft = { type: "Draft", status: "draft" } as const;
const eve = { ...anaPerson, id: "eve", tenant: "other" };

describe.each(storeKinds)("an outcome by its id, on $name", ({ newFixture }) => {
  const writing = () => scriptedTool("write", () => ({ body: "Dear Ana" }), { effect: "reads" });
  const plan = { steps: [{ step_id: "w", name: "write", payload: {}, outcome: draft }] };

  it("is read with its output, also after a crash", async () => {
    const stage = newFixture();
    const options = { tools: [writing().tool] };
    const run = await (await stage.open(options)).submit(plan, { principal: botAgent, project: "p" });
    const [made] = (await run.result()).outcomes;
    await stage.crash();
    const engine = await stage.open(options);
    expect(await engine.outcome(made?.outcome_id as string, { principal: anaPerson })).toMatchObject({
      ...draft,
      run_id: run.run_id,
      step_id: "w",
      project: "p",
      output: { body: "Dear Ana" },
      erased: false,
    });
  });

  it("of another tenant, or of nothing, is not found", async () => {
    const engine = await newFixture().open({ tools: [writing().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    const [made] = (await run.result()).outcomes;
    const id = made?.outcome_id as string;
    expect((await rejectedFault(engine.outcome(id, { principal: eve }))).code).toBe("OUTCOME_NOT_FOUND");
    expect((await rejectedFault(engine.outcome("out_x", { principal: anaPerson }))).code).toBe("OUTCOME_NOT_FOUND");
  });

  it("says that a retention has erased its output", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [writing().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    const [made] = (await run.result()).outcomes;
    await stage.advance(1000);
    await engine.retain({ principal: anaPerson, reason: "privacy", endedBefore: stage.clock.now() });
    const id = made?.outcome_id as string;
    expect(await engine.outcome(id, { principal: anaPerson })).toMatchObject({ output: null, erased: true });
  });
});

describe.each(storeKinds)("an act by its key, on $name", ({ newFixture }) => {
  const plan = { steps: [{ step_id: "send", name: "mail", payload: { to: "ana" } }] };

  it("has its state, its owner and the receipt", async () => {
    const keys: string[] = [];
    const { tool } = scriptedTool("mail", ({ context }) => {
      keys.push(context.key);
      return { id: "m1" };
    });
    const engine = await newFixture().open({ tools: [tool], ...auto });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    expect(await engine.act(keys[0] as EffectKey, { principal: anaPerson })).toMatchObject({
      key: keys[0],
      sent_key: keys[0],
      state: "committed",
      run_id: run.run_id,
      step_id: "send",
      receipt: { output: { id: "m1" } },
    });
  });

  it("in doubt has no receipt", async () => {
    const keys: string[] = [];
    const { tool } = scriptedTool("mail", ({ context }) => {
      keys.push(context.key);
      throw new Error("cut");
    });
    const engine = await newFixture().open({ tools: [tool], ...auto });
    await (await engine.submit(plan, { principal: botAgent })).result();
    const act = await engine.act(keys[0] as EffectKey, { principal: anaPerson });
    expect(act).toMatchObject({ state: "in_doubt", receipt: null });
    expect((await rejectedFault(engine.act(keys[0] as EffectKey, { principal: eve }))).code).toBe("ACT_NOT_FOUND");
  });
});
