import { describe, expect, it } from "vitest";
import type { Capability } from "../../src/core/approval/principal.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const one = { steps: [{ step_id: "a", name: "send" }] };
const notes = defineSlice({ name: "notes", shape: "list", entry: {} });
const lone = "\ud800";

describe.each(storeKinds)("hostile caller, on $name", ({ newFixture: newStage }) => {
  it.each([
    ["no text", { because: "of this" }],
    ["half a character", lone],
    ["a library", "x".repeat(10_001)],
  ])("decides nothing with a reason that is %s", async (_, reason) => {
    const { tool, calls } = scriptedTool("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [tool], tenants: {} });
    const run = await engine.submit(one, { principal: botAgent });
    const { gates } = await run.result();
    const gate = gates[0]?.gate_id as string;
    const options = { principal: anaPerson, reason: reason as string };
    for (const wish of [
      () => engine.approve(gate, options),
      () => engine.reject(gate, options),
      () => engine.resume(run.run_id, options),
      () => engine.resolve(run.run_id, "a", { ...options, as: "absent" }),
      () => run.cancel(options),
    ])
      expect((await rejectedFault(wish())).code).toBe("INVALID_INPUT");
    expect((await run.now()).gates).toHaveLength(1);
    expect(calls).toHaveLength(0);
  });

  it.each([
    ["not a number", Number.NaN],
    ["nothing", undefined],
    ["half a character", lone],
    ["a reach for a prototype", JSON.parse('{"__proto__":{"admin":true}}')],
  ])("sends no signal with %s, and no altered one either", async (_, payload) => {
    const engine = await newStage().open({ tools: [] });
    const steps = [{ step_id: "w", kind: "wait", payload: { signal: "go" } }];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await run.result();
    expect((await rejectedFault(engine.signal("go", payload, { principal: botAgent }))).code).toBe("INVALID_INPUT");
    expect((await run.now()).steps.w).toMatchObject({ state: "waiting" });
  });

  it("gains nothing by changing an argument after it was checked", async () => {
    const { tool, calls } = scriptedTool("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [tool] });
    const deny = ["send"];
    const capabilities: Capability[] = [{ tools: { deny } }];
    const steps = [
      { step_id: "w", kind: "wait", payload: { signal: "go" } },
      { step_id: "a", name: "send", depends_on: ["w"] },
    ];
    const run = await engine.submit({ steps }, { principal: { ...botAgent, capabilities } });
    await run.result();
    deny.length = 0;
    capabilities.length = 0;
    await engine.signal("go", null, { principal: botAgent });
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
  ])("reaches no store with a name that is %s", async (_, wrong) => {
    const { tool } = scriptedTool("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [tool], slices: [notes] });
    const run = await engine.submit(one, { principal: botAgent, project: "p" });
    await run.result();
    const name = wrong as string;
    const at = { runId: run.run_id, stepId: name, side: "before" } as const;
    for (const wish of [
      () => engine.state({ principal: anaPerson, project: name }),
      () => engine.checkpoints.list({ principal: anaPerson, project: name }),
      () => engine.checkpoints.restore(at, { principal: anaPerson }),
      () => engine.resolve(run.run_id, name, { principal: anaPerson, as: "absent" }),
      () => engine.policies.remove(name, { principal: anaPerson }),
      () => engine.schedules.remove(name, { principal: anaPerson }),
      () => engine.submit(one, { principal: botAgent, confirmed: [name] }),
    ])
      expect((await rejectedFault(wish())).code).toBe("INVALID_INPUT");
  });

  it("gets one page of a list", async () => {
    const engine = await newStage().open({ tools: [] });
    for (const limit of [0, -1, 0.5, 1001, Number.NaN, Number.POSITIVE_INFINITY, "5" as never]) {
      expect((await rejectedFault(engine.runs({ principal: anaPerson, limit }))).code).toBe("INVALID_INPUT");
      expect((await rejectedFault(engine.gates({ principal: anaPerson, limit }))).code).toBe("INVALID_INPUT");
    }
    expect((await rejectedFault(engine.runs({ principal: anaPerson, after: lone }))).code).toBe("INVALID_INPUT");
    // The list would seem to end at a cursor that is not its own, and the rows after it would be lost.
    const lists = [engine.runs, engine.gates, engine.inDoubt, engine.outcomes];
    for (const list of lists)
      for (const after of ["", "abc", "__proto__", "zzz_1"])
        expect((await rejectedFault(list({ principal: anaPerson, after }))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(engine.gates({ principal: anaPerson, after: "run_1" }))).code).toBe("INVALID_INPUT");
    for (const status of ["constructor", "done", 5 as never])
      expect((await rejectedFault(engine.runs({ principal: anaPerson, status }))).message).toContain(
        "completed, partial",
      );
  });

  it("is told what is missing", async () => {
    const engine = await newStage().open({ tools: [] });
    const told = async (wish: Promise<unknown>) => (await rejectedFault(wish)).message;
    expect(await told(engine.submit(one, undefined as never))).toContain("pass { principal,");
    expect(await told(engine.submit(one, { principal: "bot" as never }))).toContain('it is the string "bot"');
    expect(await told(engine.call(undefined as never, {}, { principal: botAgent }))).toContain("the tool is missing");
    expect(await told(engine.state({ principal: anaPerson } as never))).toContain("pass a project, or the runId");
    const at = "run_1" as never;
    expect(await told(engine.checkpoints.restore(at, { principal: anaPerson }))).toContain("{ runId, stepId, side }");
    expect(await told(sqlite(undefined as never))).toContain("sqlite needs the path of a file");
  });

  it("gets a fault for throwing getters, endless lists and malformed snapshots", async () => {
    const engine = await newStage().open({ tools: [], slices: [notes] });
    const explosive = Object.defineProperty({}, "steps", {
      enumerable: true,
      get: () => {
        throw new Error("do not look");
      },
    });
    expect((await rejectedFault(engine.submit(explosive, { principal: botAgent }))).code).toBe("PLAN_INVALID");
    expect((await rejectedFault(engine.policies.set(explosive, { principal: anaPerson }))).code).toBe("POLICY_INVALID");
    expect(engine.check(explosive)).toMatchObject({ ok: false });
    const confirmed = new Array(100_000_000);
    expect((await rejectedFault(engine.submit(one, { principal: botAgent, confirmed }))).code).toBe("INVALID_INPUT");
    for (const cron of ["constructor", 5 as never, undefined as never])
      expect((await rejectedFault(engine.schedules.set("s", one, { principal: anaPerson, cron }))).code).toBe(
        "INVALID_INPUT",
      );
    for (const slice of [null, 5, { shape: "list", version: "1", entries: "abc" }, { version: "1", entries: [] }]) {
      const snapshot = { schema_version: "1", slices: { notes: slice } } as never;
      const { step } = await engine.checkpoints.load(snapshot, { principal: botAgent, project: "p" });
      expect(step).toMatchObject({ state: "rejected", fault: { code: "INVALID_INPUT" } });
    }
  });
});
