import { describe, expect, it } from "vitest";
import type { Capability } from "../../src/core/principal.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { actor, faultOf } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const one = { steps: [{ step_id: "a", name: "send" }] };
const notes = defineSlice({ name: "notes", shape: "list", entry: {} });
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

  it.each<[string, unknown]>([
    ["half a character", lone],
    ["a zero byte", "a\0b"],
    ["nothing", ""],
    ["a book", "x".repeat(201)],
    ["an object", {}],
    ["not there", undefined],
  ])("asks no store for a name that is %s", async (_, wrong) => {
    const { tool } = actor("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [tool], slices: [notes] });
    const run = await engine.submit(one, { principal: bot, project: "p" });
    await run.result();
    const name = wrong as string;
    const at = { runId: run.run_id, stepId: name, side: "before" } as const;
    for (const wish of [
      () => engine.state({ principal: ana, project: name }),
      () => engine.checkpoints.list({ principal: ana, project: name }),
      () => engine.checkpoints.restore(at, { principal: ana }),
      () => engine.resolve(run.run_id, name, { principal: ana, as: "absent" }),
      () => engine.policies.remove(name, { principal: ana }),
      () => engine.schedules.remove(name, { principal: ana }),
      () => engine.submit(one, { principal: bot, confirmed: [name] }),
    ])
      expect((await faultOf(wish())).code).toBe("INVALID_INPUT");
  });

  it("is shown a part of a list that is a part", async () => {
    const engine = await newStage().open({ tools: [] });
    for (const limit of [0, -1, 0.5, 1001, Number.NaN, Number.POSITIVE_INFINITY, "5" as never]) {
      expect((await faultOf(engine.runs({ principal: ana, limit }))).code).toBe("INVALID_INPUT");
      expect((await faultOf(engine.gates({ principal: ana, limit }))).code).toBe("INVALID_INPUT");
    }
    expect((await faultOf(engine.runs({ principal: ana, after: lone }))).code).toBe("INVALID_INPUT");
    expect(await engine.runs({ principal: ana, limit: 1000, status: "constructor" })).toEqual([]);
  });

  it("is told what is wrong with what throws when it is read, with endless lists and with shapeless snapshots", async () => {
    const engine = await newStage().open({ tools: [], slices: [notes] });
    const explosive = Object.defineProperty({}, "steps", {
      enumerable: true,
      get: () => {
        throw new Error("do not look");
      },
    });
    expect((await faultOf(engine.submit(explosive, { principal: bot }))).code).toBe("PLAN_INVALID");
    expect((await faultOf(engine.policies.set(explosive, { principal: ana }))).code).toBe("POLICY_INVALID");
    expect(engine.check(explosive)).toMatchObject({ ok: false });
    const confirmed = new Array(100_000_000);
    expect((await faultOf(engine.submit(one, { principal: bot, confirmed }))).code).toBe("INVALID_INPUT");
    for (const cron of ["constructor", 5 as never, undefined as never])
      expect((await faultOf(engine.schedules.set("s", one, { principal: bot, cron }))).code).toBe("INVALID_INPUT");
    for (const slice of [null, 5, { shape: "list", version: "1", entries: "abc" }, { version: "1", entries: [] }]) {
      const snapshot = { schema_version: "1", slices: { notes: slice } } as never;
      expect((await faultOf(engine.checkpoints.load(snapshot, { principal: bot, project: "p" }))).code).toBe(
        "PLAN_INVALID",
      );
    }
  });
});
