import { describe, expect, it } from "vitest";
import type { Capability } from "../../src/core/principal.ts";
import { actor, faultOf } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const one = { steps: [{ step_id: "a", name: "send" }] };
const lone = "\ud800";

describe.each(places)("a caller, on $name,", ({ newStage }) => {
  it.each([
    ["no text", { because: "of this" }],
    ["half a character", lone],
    ["a library", "x".repeat(10_001)],
  ])("decides nothing with a reason that is %s", async (_, reason) => {
    const { tool, calls } = actor("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [tool], tenants: {} });
    const run = await engine.submit(one, { principal: bot });
    const { gates } = await run.result();
    const gate = gates[0]?.gate_id as string;
    const options = { principal: ana, reason: reason as string };
    for (const wish of [
      () => engine.approve(gate, options),
      () => engine.reject(gate, options),
      () => engine.resume(run.run_id, options),
      () => engine.resolve(run.run_id, "a", { ...options, as: "absent" }),
      () => run.cancel(options),
    ])
      expect((await faultOf(wish())).code).toBe("INVALID_INPUT");
    expect((await run.now()).gates).toHaveLength(1);
    expect(calls).toHaveLength(0);
  });

  it.each([
    ["not a number", Number.NaN],
    ["nothing", undefined],
    ["half a character", lone],
    ["a reach for a prototype", JSON.parse('{"__proto__":{"admin":true}}')],
  ])("sends no signal that says %s, and none that says something else instead", async (_, payload) => {
    const engine = await newStage().open({ tools: [] });
    const steps = [{ step_id: "w", kind: "wait", payload: { signal: "go" } }];
    const run = await engine.submit({ steps }, { principal: bot });
    await run.result();
    expect((await faultOf(engine.signal("go", payload, { principal: bot }))).code).toBe("INVALID_INPUT");
    expect((await run.now()).steps.w).toMatchObject({ state: "waiting" });
  });

  it("gains nothing by writing in what it was given, once that was judged", async () => {
    const { tool, calls } = actor("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [tool] });
    const deny = ["send"];
    const capabilities: Capability[] = [{ tools: { deny } }];
    const steps = [
      { step_id: "w", kind: "wait", payload: { signal: "go" } },
      { step_id: "a", name: "send", depends_on: ["w"] },
    ];
    const run = await engine.submit({ steps }, { principal: { ...bot, capabilities } });
    await run.result();
    deny.length = 0;
    capabilities.length = 0;
    await engine.signal("go", null, { principal: bot });
    expect((await run.result()).steps.a).toMatchObject({ state: "rejected", fault: { code: "AUTH_FORBIDDEN" } });
    expect(calls).toHaveLength(0);
  });
});
