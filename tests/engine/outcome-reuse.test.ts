import { describe, expect, it } from "vitest";
import type { Sighting } from "../../src/core/tool/tool.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const hour = 60 * 60 * 1000;
const both = { acme: { mode: "auto_exec" }, globex: { mode: "auto_exec" } } as const;
const summary = { type: "Summary.Professor", status: "final" };
const summarizes = (more: object = {}) =>
  scriptedTool("summarize", ({ context }) => ({ text: `by ${context.run_id}` }), {
    effect: "reads",
    cache: "use_if_safe",
    ...more,
  });
const asking = (more: object = {}) => ({
  steps: [{ step_id: "s", name: "summarize", payload: { id: 910 }, outcome: summary, ...more }],
});

describe.each(storeKinds)("outcome, on $name", ({ newFixture: newStage }) => {
  it("records its inputs, principal and time", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [summarizes().tool] });
    const run = await engine.submit(asking(), { principal: botAgent });
    const { outcomes } = await run.result();
    const [made] = await collectEvents(run, "step.succeeded");
    expect(outcomes).toEqual([
      {
        outcome_id: made?.outcome?.outcome_id,
        type: "Summary.Professor",
        status: "final",
        step_id: "s",
        preview: JSON.stringify(made?.output),
      },
    ]);
    expect(made?.outcome).toEqual({
      outcome_id: expect.stringMatching(/^out_/),
      type: "Summary.Professor",
      status: "final",
      input_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      tool: "summarize@1",
      reuse_key: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("answers an equal call of another run, says so, and is listed there under its own id", async () => {
    const summarize = summarizes();
    const engine = await newStage().open({ tools: [summarize.tool] });
    const first = await engine.submit(asking(), { principal: botAgent });
    const made = await first.result();
    const second = await engine.submit(asking(), { principal: botAgent });
    const reused = await second.result();
    expect(reused.steps.s).toEqual({
      ...made.steps.s,
      reused: { run: first.run_id, step: "s", at: expect.any(Number), differs: null },
    });
    expect(reused.outcomes).toEqual(made.outcomes);
    expect(summarize.calls).toHaveLength(1);
    const third = await (await engine.submit(asking(), { principal: botAgent })).result();
    expect(third.steps.s).toMatchObject({ reused: { run: first.run_id } });
  });

  it("costs nothing when it is reused", async () => {
    const summarize = scriptedTool(
      "summarize",
      ({ context }) => {
        context.cost({ usd_micros: 100 });
        return { text: "t" };
      },
      { effect: "reads", cache: "use_if_safe" },
    );
    const engine = await newStage().open({ tools: [summarize.tool] });
    await (await engine.submit(asking(), { principal: botAgent })).result();
    const again = await (await engine.submit(asking(), { principal: botAgent })).result();
    expect(again.spent).toMatchObject({ usd_micros: 0, attempts: 0 });
  });

  it.each([
    ["another input", { payload: { id: 911 } }, {}],
    ["other policy tags", { policy_tags: ["confidential"] }, {}],
    ["another type", { outcome: { type: "Summary.Other", status: "final" } }, {}],
    ["another status", { outcome: { type: "Summary.Professor", status: "draft" } }, {}],
    ["a type that grows old", { outcome: { type: "Deadline.Visa", status: "final" } }, {}],
    ["no type at all", { outcome: null }, {}],
    ["a plan that wants it fresh", { cache_policy: "never" }, {}],
    ["another mode", {}, { mode: "human_gated" as const }],
  ])("does not answer a call with %s", async (_, step, options) => {
    const summarize = summarizes();
    const engine = await newStage().open({ tools: [summarize.tool] });
    await (await engine.submit(asking(), { principal: botAgent })).result();
    const other = await (await engine.submit(asking(step), { principal: botAgent, ...options })).result();
    expect(other.steps.s).not.toHaveProperty("reused");
    expect(summarize.calls).toHaveLength(2);
  });

  it.each([
    ["version", { version: "2" }],
    ["schema", { output: { type: "object" } }],
  ])("does not answer a tool of another %s", async (_, more) => {
    const stage = newStage();
    const old = await stage.open({ tools: [summarizes().tool] });
    await (await old.submit(asking(), { principal: botAgent })).result();
    await old.close();
    const changed = summarizes(more);
    const engine = await stage.open({ tools: [changed.tool] });
    await (await engine.submit(asking(), { principal: botAgent })).result();
    expect(changed.calls).toHaveLength(1);
  });

  it("answers other principals of the tenant only if its tool shares it", async () => {
    for (const [more, made] of [
      [{}, 2],
      [{ cacheShare: "tenant" }, 1],
    ] as const) {
      const summarize = summarizes(more);
      const engine = await newStage().open({ tools: [summarize.tool] });
      await (await engine.submit(asking(), { principal: botAgent })).result();
      await (await engine.submit(asking(), { principal: { ...botAgent, id: "bot2" } })).result();
      expect(summarize.calls).toHaveLength(made);
    }
  });

  it("is made anew by a step that refreshes it, and then answers with the new one", async () => {
    const count = scriptedTool("count", [() => 1, () => 2], { effect: "pure", cache: "use_if_safe" });
    const stage = newStage();
    const engine = await stage.open({ tools: [count.tool] });
    const ask = async (more: object) => {
      stage.clock.advance(1);
      const plan = { steps: [{ step_id: "c", name: "count", ...more }] };
      return (await (await engine.submit(plan, { principal: botAgent })).result()).steps.c?.output;
    };
    expect([await ask({}), await ask({}), await ask({ cache_policy: "refresh" }), await ask({})]).toEqual([1, 1, 2, 2]);
    expect(count.calls).toHaveLength(2);
    const fresh = { steps: [{ step_id: "s", name: "send", cache_policy: "refresh" }] };
    const send = await newStage().open({ tools: [scriptedTool("send", () => 1, { effect: "reads" }).tool] });
    expect((await rejectedFault(send.submit(fresh, { principal: botAgent }))).code).toBe("PLAN_INVALID");
  });

  it("of a session is shared with others only if the tool made it, not a handler of the caller", async () => {
    const shared = { effect: "pure", cache: "use_if_safe", cacheShare: "tenant" } as const;
    const look = scriptedTool("look", () => "by the tool", shared);
    const engine = await newStage().open({ tools: [look.tool] });
    const own = await engine.openRun({ principal: botAgent, session: "a" });
    await own.callTool({ id: "1", tool: "look", input: {} }, { run: () => "by the caller" });
    await own.close();
    const other = { ...botAgent, id: "bot2" };
    const steps = [{ step_id: "s", name: "look" }];
    const plain = await (await engine.submit({ steps }, { principal: other })).result();
    expect(plain.steps.s?.output).toBe("by the tool");
    expect(look.calls).toHaveLength(1);
  });

  it("does not answer another tenant", async () => {
    const summarize = summarizes();
    const engine = await newStage().open({ tools: [summarize.tool], tenants: both });
    await (await engine.submit(asking(), { principal: botAgent })).result();
    const theirs = await engine.submit(asking(), { principal: { ...botAgent, tenant: "globex" } });
    expect((await theirs.result()).steps.s).not.toHaveProperty("reused");
    expect(summarize.calls).toHaveLength(2);
  });

  it("of any type is reused within its time, and not later", async () => {
    const stage = newStage();
    const summarize = summarizes({ cache: "ttl_only", cacheTtlMs: hour });
    const engine = await stage.open({ tools: [summarize.tool] });
    const ask = async () =>
      (await (await engine.submit(asking({ outcome: { type: "Deadline.Visa" } }), { principal: botAgent })).result())
        .steps.s;
    await ask();
    stage.clock.advance(hour - 1);
    expect(await ask()).toHaveProperty("reused");
    stage.clock.advance(1);
    expect(await ask()).not.toHaveProperty("reused");
    expect(summarize.calls).toHaveLength(2);
  });

  it("of a pure tool needs no reuse type", async () => {
    const count = scriptedTool("count", () => ({ n: 1 }), { effect: "pure", cache: "use_if_safe" });
    const engine = await newStage().open({ tools: [count.tool] });
    const plan = { steps: [{ step_id: "c", name: "count", payload: { a: 1 } }] };
    await (await engine.submit(plan, { principal: botAgent })).result();
    expect((await (await engine.submit(plan, { principal: botAgent })).result()).steps.c).toHaveProperty("reused");
    expect(count.calls).toHaveLength(1);
  });

  it("that failed or has secret fields is not reused", async () => {
    const flaky = scriptedTool("flaky", [() => Promise.reject(new Error("no")), () => ({ ok: 1 })], {
      effect: "pure",
      cache: "use_if_safe",
    });
    const secret = scriptedTool("secret", () => ({ token: "s3cret" }), {
      effect: "pure",
      cache: "use_if_safe",
      redact: ["token"],
    });
    const engine = await newStage().open({ tools: [flaky.tool, secret.tool] });
    for (const name of ["flaky", "secret"])
      for (let turn = 0; turn < 2; turn += 1)
        await (await engine.submit({ steps: [{ step_id: "s", name }] }, { principal: botAgent })).result();
    expect(flaky.calls).toHaveLength(2);
    expect(secret.calls).toHaveLength(2);
  });

  it("is reused only by a call that may be made now", async () => {
    const summarize = summarizes();
    let open = true;
    const shut = { kind: "refuse", rule: "shut", fault: { code: "POLICY_DENIED", message: "closed" } } as const;
    const guards = [{ id: "shut", version: "1", judge: () => (open ? ({ kind: "allow" } as const) : shut) }];
    const engine = await newStage().open({ tools: [summarize.tool], guards });
    await (await engine.submit(asking(), { principal: botAgent })).result();
    open = false;
    const refused = await (await engine.submit(asking(), { principal: botAgent })).result();
    expect(refused.steps.s).toMatchObject({ state: "rejected", fault: { code: "POLICY_DENIED" } });
    open = true;
    const gated = await (await engine.submit(asking({ gate: "human_confirm" }), { principal: botAgent })).result();
    expect(gated.gates).toHaveLength(1);
    expect(summarize.calls).toHaveLength(1);
  });

  it("never replaces an act: a plan that caches one is refused", async () => {
    const engine = await newStage().open({ tools: [scriptedTool("send", () => 1).tool] });
    const plan = { steps: [{ step_id: "s", name: "send", cache_policy: "use_if_safe" }] };
    expect((await rejectedFault(engine.submit(plan, { principal: botAgent }))).code).toBe("PLAN_INVALID");
  });
});

describe.each(storeKinds)("recorded act that is requested again, on $name", ({ newFixture: newStage }) => {
  type Confirm = "strict" | "warn" | "gate";
  const paying = { steps: [{ step_id: "pay", name: "pay", payload: { invoice: 1 } }] };
  const happened: Sighting = { saw: "happened", output: { id: "p1" } };

  async function metAgain(confirm: Confirm, sighting: Sighting | Error) {
    const probes: unknown[] = [];
    const pay = scriptedTool("pay", ({ context }) => ({ id: context.key }), {
      identity: ["invoice"],
      onDuplicate: "reuse",
      confirm,
      verify: async ({ input, output }) => {
        probes.push({ input, output });
        if (sighting instanceof Error) throw sighting;
        return sighting;
      },
    });
    const engine = await newStage().open({ tools: [pay.tool] });
    const first = await engine.submit(paying, { principal: botAgent });
    const paid = await first.result();
    expect(probes).toEqual([]);
    const run = await engine.submit(paying, { principal: botAgent });
    return { engine, pay, paid, probes, run, result: await run.result() };
  }

  it.each<Confirm>(["strict", "warn", "gate"])(
    "is verified first, and reused when the verifier confirms it (%s)",
    async (confirm) => {
      const { pay, paid, probes, result } = await metAgain(confirm, happened);
      expect(result.steps.pay).toMatchObject({ ...paid.steps.pay, reused: { step: "pay" } });
      expect(probes).toEqual([{ input: { invoice: 1 }, output: { id: pay.calls[0]?.context.key } }]);
      expect(pay.calls).toHaveLength(1);
    },
  );

  it.each<[string, Sighting | Error, string]>([
    ["it is gone", { saw: "absent" }, "not there"],
    ["it is another", { ...happened, differs: "the amount is 7, not 5" }, "the amount is 7, not 5"],
    ["nobody can tell", { saw: "unknown", why: "the bank is closed" }, "the bank is closed"],
    ["the verifier breaks", new Error("no route"), "no route"],
  ])("fails, in strict mode, when %s", async (_, sighting, why) => {
    const { pay, result } = await metAgain("strict", sighting);
    expect(result.steps.pay).toMatchObject({ state: "rejected", fault: { code: "CONFIRMATION_FAILED" } });
    expect(JSON.stringify(result.steps.pay)).toContain(why);
    expect(pay.calls).toHaveLength(1);
  });

  it("is reused with a recorded warning where its tool says so", async () => {
    const { pay, run, result } = await metAgain("warn", { saw: "absent" });
    expect(result.steps.pay).toMatchObject({ state: "succeeded", reused: { step: "pay" } });
    expect(await collectEvents(run, "step.succeeded")).toMatchObject([
      { warning: expect.stringContaining("not there") },
    ]);
    expect(pay.calls).toHaveLength(1);
  });

  it("waits for a person, whose approval repeats it", async () => {
    const { engine, pay, run, result } = await metAgain("gate", { saw: "absent" });
    expect(result.gates[0]?.reason).toContain("not there");
    expect(pay.calls).toHaveLength(1);
    await engine.approve(result.gates[0]?.gate_id as string, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect(new Set(pay.calls.map(({ context }) => context.key)).size).toBe(2);
  });
});
