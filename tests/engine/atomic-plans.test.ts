import { describe, expect, it } from "vitest";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool, throwsFault } from "./scripted-tool.ts";

const beds = defineSlice({ name: "beds", shape: "map", entry: {} });
const notes = defineSlice({ name: "notes", shape: "list", entry: {} });
const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: {} });
const slices = [beds, notes, diary];
const project = "garden";

const sow = scriptedTool(
  "sow",
  ({ input, context }) => {
    context.slice(beds).set(String(input.bed), input.plant ?? "beans");
    context.slice(notes).append(`sown ${input.bed}`);
    context.slice(diary).append(`sown ${input.bed}`);
    return {};
  },
  { effect: "writes" },
).tool;
const fails = scriptedTool("fails", throwsFault("TOOL_FAILED"), { effect: "reads" }).tool;

/** A tool that books and cancels in a world that it records. */
function booking(name = "book", more: object = {}) {
  const world: string[] = [];
  const { tool } = scriptedTool(
    name,
    ({ input }) => {
      world.push(`book ${input.what}`);
      return { number: `n ${input.what}` };
    },
    {
      compensate: async ({ input }: { readonly input: unknown }) =>
        void world.push(`cancel ${(input as { readonly what: string }).what}`),
      ...more,
    },
  );
  return { tool, world };
}

const step = (step_id: string, name: string, payload: object = {}, more: object = {}) => ({
  step_id,
  name,
  payload,
  ...more,
});
const book = (what: string, more: object = {}) => step(what, "book", { what }, more);
const wait = { step_id: "w", kind: "wait", payload: { ms: 60_000 } };
const atomic = (...steps: readonly object[]) => ({ atomicity: "plan", sequential: true, steps });

async function stateOf(engine: Awaited<ReturnType<EngineFixture["open"]>>) {
  const state = await engine.state({ principal: anaPerson, project });
  return { beds: state.slice(beds).all(), notes: state.slice(notes).all(), diary: state.slice(diary).all() };
}

describe.each(storeKinds)("an atomic plan, on $name", ({ newFixture: newStage }) => {
  it("that fails undoes its acts, the latest first, and puts its state back; logs stay", async () => {
    const { tool, world } = booking();
    const stage = newStage();
    const engine = await stage.open({ tools: [sow, fails, tool], slices });
    await engine.call("sow", { bed: "north", plant: "kale" }, { principal: botAgent, project });
    const before = await stateOf(engine);
    const plan = atomic(
      step("first", "sow", { bed: "north" }),
      book("hotel"),
      step("second", "sow", { bed: "south" }),
      book("flight"),
      step("last", "fails"),
    );
    const run = await engine.submit(plan, { principal: botAgent, project });
    const result = await stage.runUntilIdle(run);
    expect(world).toEqual(["book hotel", "book flight", "cancel flight", "cancel hotel"]);
    const after = await stateOf(engine);
    expect({ ...after, diary: [] }).toEqual({ ...before, diary: [] });
    expect(after.diary).toEqual(["sown north", "sown north", "sown south"]);
    expect(result).toMatchObject({
      status: "failed",
      final: true,
      next: null,
      steps: { hotel: { state: "compensated" }, flight: { state: "compensated" } },
      rollback: {
        cause: { by: "step", step_id: "last", fault: { code: "TOOL_FAILED" } },
        acts: [
          { step_id: "flight", undone: "unconfirmed" },
          { step_id: "hotel", undone: "unconfirmed" },
        ],
        state: { restored: 4, left: 0, places: [] },
        files: { restored: 0, left: 0 },
      },
    });
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("that is cancelled is rolled back and ends as cancelled", async () => {
    const { tool, world } = booking();
    const stage = newStage();
    const engine = await stage.open({ tools: [sow, tool], slices });
    const plan = atomic(step("a", "sow", { bed: "north" }), book("hotel"), wait);
    const run = await engine.submit(plan, { principal: botAgent, project });
    expect((await run.result()).steps).toMatchObject({ hotel: { state: "succeeded" }, w: { state: "waiting" } });
    await run.cancel({ reason: "off" });
    const result = await stage.runUntilIdle(run);
    expect(result).toMatchObject({
      status: "cancelled",
      rollback: { cause: { by: "cancel", principal: "bot", reason: "off" }, acts: [{ undone: "unconfirmed" }] },
    });
    expect(world).toEqual(["book hotel", "cancel hotel"]);
    expect((await stateOf(engine)).beds).toEqual([]);
  });

  it("is never resumed, retried or forked, and is undone only as a whole", async () => {
    const { tool } = booking();
    const stage = newStage();
    const engine = await stage.open({ tools: [sow, fails, tool], slices });
    const options = { principal: botAgent, project, requestKey: "trip" };
    const plan = atomic(step("a", "sow", { bed: "north" }), book("hotel"), step("last", "fails"));
    const run = await engine.submit(plan, options);
    await stage.runUntilIdle(run);
    const why = { code: "NOT_POSSIBLE", message: expect.stringContaining("rolled back") };
    expect(await rejectedFault(engine.resume(run.run_id, { principal: anaPerson }))).toMatchObject(why);
    expect(await rejectedFault(engine.submit(plan, { ...options, retryFailed: true }))).toMatchObject(why);
    const at = { runId: run.run_id, stepId: "a", side: "after" } as const;
    expect(await rejectedFault(engine.checkpoints.fork(at, { principal: anaPerson }))).toMatchObject(why);
    expect((await engine.submit(plan, options)).run_id).toBe(run.run_id);
  });

  it("in progress refuses the undo of one act; a completed one is undone like any run", async () => {
    const { tool, world } = booking();
    const stage = newStage();
    const engine = await stage.open({ tools: [tool] });
    const run = await engine.submit(atomic(book("hotel"), wait), { principal: botAgent });
    await run.result();
    const undo = { principal: anaPerson, as: "undo" } as const;
    expect(await rejectedFault(engine.resolve(run.run_id, "hotel", undo))).toMatchObject({
      code: "NOT_POSSIBLE",
      message: expect.stringContaining("cancel run"),
    });
    await stage.advance(60_000);
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" });
    expect(await engine.undo(run.run_id, { principal: anaPerson })).toMatchObject([{ undone: "unconfirmed" }]);
    expect(world).toEqual(["book hotel", "cancel hotel"]);
  });

  it("is rolling_back until an act in doubt is settled, and then undoes it too", async () => {
    const world: string[] = [];
    const { tool: post } = scriptedTool("post", throwsFault("TOOL_FAILED"), {
      compensate: async () => void world.push("unpost"),
    });
    const { tool, world: bookings } = booking();
    const stage = newStage();
    const engine = await stage.open({ tools: [tool, post] });
    const run = await engine.submit(atomic(book("hotel"), step("post", "post")), { principal: botAgent });
    await run.result();
    await run.cancel();
    const waiting = await stage.runUntilIdle(run);
    expect(waiting).toMatchObject({ status: "rolling_back", final: false, steps: { post: { state: "in_doubt" } } });
    const [row] = await engine.runs({ principal: anaPerson, status: "rolling_back" });
    expect(row?.run_id).toBe(run.run_id);
    expect(bookings).toEqual(["book hotel"]);
    for (const verb of ["resume", "undo"] as const)
      expect(await rejectedFault(engine[verb](run.run_id, { principal: anaPerson }))).toMatchObject({
        code: "NOT_POSSIBLE",
      });
    await engine.resolve(run.run_id, "post", { principal: anaPerson, as: "happened", output: {} });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      status: "cancelled",
      steps: { post: { state: "compensated" } },
    });
    expect([...world, ...bookings]).toEqual(["unpost", "book hotel", "cancel hotel"]);
  });

  it("does not undo an act that was found absent or given up, and lists the latter", async () => {
    const { tool: post } = scriptedTool("post", throwsFault("TOOL_FAILED"), { compensate: async () => {} });
    const stage = newStage();
    const engine = await stage.open({ tools: [post] });
    const plan = { atomicity: "plan", steps: [step("one", "post", { n: 1 }), step("two", "post", { n: 2 })] };
    const run = await engine.submit(plan, { principal: botAgent });
    await stage.runUntilIdle(run);
    await run.cancel();
    await engine.resolve(run.run_id, "one", { principal: anaPerson, as: "absent" });
    await engine.resolve(run.run_id, "two", { principal: anaPerson, as: "give_up" });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      status: "cancelled",
      rollback: { acts: [{ step_id: "two", undone: "not_attempted", why: "the act is given_up" }] },
    });
  });

  it("tries a compensation that fails a bounded number of times, records it, and goes on with the others", async () => {
    let tries = 0;
    const { tool: pay } = scriptedTool("pay", () => ({}), {
      compensate: async () => {
        tries += 1;
        throw new Error("bank closed");
      },
      errorsMean: "not_done",
      retry: "any",
      tries: 3,
    });
    const { tool, world } = booking();
    const stage = newStage();
    const engine = await stage.open({ tools: [tool, pay, fails] });
    const plan = atomic(book("hotel"), step("pay", "pay"), step("last", "fails"));
    const run = await engine.submit(plan, { principal: botAgent });
    const result = await stage.runUntilIdle(run);
    expect(tries).toBe(3);
    expect(world).toEqual(["book hotel", "cancel hotel"]);
    expect(result).toMatchObject({
      status: "failed",
      final: true,
      steps: { pay: { state: "compensation_failed", fault: { code: "TOOL_FAILED" } }, hotel: { state: "compensated" } },
      rollback: {
        acts: [
          { step_id: "pay", undone: "failed" },
          { step_id: "hotel", undone: "unconfirmed" },
        ],
      },
    });
    expect(await collectEvents(run, "step.uncompensated")).toMatchObject([{ step_id: "pay" }]);
    await stage.crash();
    await stage.open({ tools: [tool, pay, fails] });
    await stage.advance(60_000);
    expect([tries, world.length]).toEqual([3, 2]);
  });

  it("leaves an act without a compensation, and says so when the plan is checked and when it is rolled back", async () => {
    const { tool: launch } = scriptedTool("launch", () => ({}));
    const { tool } = booking();
    const stage = newStage();
    const engine = await stage.open({ tools: [launch, tool, fails] });
    const plan = atomic(step("launch", "launch"), book("hotel"), step("last", "fails"));
    const report = await engine.check(plan);
    expect(report).toMatchObject({
      ok: true,
      findings: expect.arrayContaining([
        expect.objectContaining({
          code: "CAUTION",
          path: "/steps/0/name",
          message: expect.stringContaining("remains"),
        }),
      ]),
    });
    const run = await engine.submit(plan, { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      rollback: {
        acts: [
          { step_id: "hotel", undone: "unconfirmed" },
          { step_id: "launch", undone: "irreversible" },
        ],
      },
    });
  });

  it("shows at the gate of an act that the approval covers its compensation, which then needs no other", async () => {
    const { tool, world } = booking();
    const stage = newStage();
    const engine = await stage.open({ tools: [tool, fails], tenants: { acme: { mode: "human_gated" } } });
    const run = await engine.submit(atomic(book("hotel"), step("last", "fails")), { principal: botAgent });
    const [gate] = (await stage.runUntilIdle(run)).gates;
    expect(gate).toMatchObject({ reversible: true, covers: "compensation" });
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "failed", gates: [] });
    expect(world).toEqual(["book hotel", "cancel hotel"]);
  });

  it("holds a compensation like any act where no person decided about the act", async () => {
    const { tool, world } = booking();
    const stage = newStage();
    const trusting = { acme: { mode: "human_gated", trust: ["book"] } } as const;
    const first = await stage.open({ tools: [tool], tenants: trusting });
    const run = await first.submit(atomic(book("hotel"), wait), { principal: botAgent, requestKey: "k" });
    await run.result();
    await first.close();
    const next = await stage.open({ tools: [tool], tenants: { acme: { mode: "human_gated" } } });
    const again = await next.run(run.run_id, { principal: anaPerson });
    await again.cancel();
    const held = await stage.runUntilIdle(again);
    expect(held).toMatchObject({ status: "rolling_back", gates: [{ step_id: "undo.hotel.1" }] });
    expect(world).toEqual(["book hotel"]);
    await next.approve(held.gates[0]?.gate_id ?? "", { principal: anaPerson });
    expect(await stage.runUntilIdle(again)).toMatchObject({ status: "cancelled" });
    expect(world).toEqual(["book hotel", "cancel hotel"]);
  });

  it("refuses steps that start runs of their own, and errands and sub-agents that would", async () => {
    const stage = newStage();
    const spawn = scriptedTool(
      "spawn",
      ({ context }) => context.child({ steps: [{ step_id: "x", name: "sow", payload: { bed: "x" } }] }) ?? {},
      {
        effect: "writes",
      },
    );
    const engine = await stage.open({ tools: [sow, spawn.tool], slices });
    const child = { step_id: "c", kind: "run", payload: { plan: { steps: [step("x", "sow", { bed: "x" })] } } };
    const refused = await rejectedFault(engine.submit(atomic(child), { principal: botAgent, project }));
    expect(refused).toMatchObject({ code: "PLAN_INVALID", message: expect.stringContaining("does not roll back") });
    const run = await engine.submit(atomic(step("s", "spawn")), { principal: botAgent, project });
    expect((await stage.runUntilIdle(run)).steps["s.1"]).toMatchObject({
      state: "rejected",
      fault: { code: "NOT_POSSIBLE" },
    });
  });

  it("lists the places that other runs have changed since, and leaves them", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sow, fails], slices });
    const plan = atomic(step("a", "sow", { bed: "north" }), step("b", "sow", { bed: "south" }), wait);
    const run = await engine.submit(plan, { principal: botAgent, project });
    await run.result();
    const other = await engine.call("sow", { bed: "south", plant: "kale" }, { principal: botAgent, project });
    await run.cancel();
    const result = await stage.runUntilIdle(run);
    const why = `run ${other.run_id} has changed it since`;
    expect(result.rollback?.state).toEqual({
      restored: 1,
      left: 3,
      places: [
        { path: "/beds/south", why },
        { path: "/notes/0", why: "later entries of the list follow it" },
        { path: "/notes/1", why: "later entries of the list follow it" },
      ],
    });
    expect((await stateOf(engine)).beds).toEqual([["south", "kale"]]);
  });

  it("rejected at its deadline is rolled back, also by a step that permits refusals", async () => {
    const { tool, world } = booking();
    const stage = newStage();
    const engine = await stage.open({ tools: [tool, fails] });
    const late = step("late", "fails", {}, { on_rejected: "continue" });
    const run = await engine.submit(atomic(book("hotel"), wait, late), { principal: botAgent, deadlineMs: 30_000 });
    await run.result();
    await stage.advance(60_000);
    expect(await stage.runUntilIdle(run)).toMatchObject({
      status: "failed",
      rollback: { cause: { fault: { code: "DEADLINE_EXCEEDED" } } },
    });
    expect(world).toEqual(["book hotel", "cancel hotel"]);
  });

  it("that waits for a person or a signal at its deadline is rolled back", async () => {
    const { tool, world } = booking();
    const { tool: held } = booking("held");
    const stage = newStage();
    const engine = await stage.open({ tools: [tool, held] });
    for (const late of [
      step("late", "held", { what: "x" }, { gate: "human_confirm", on_rejected: "continue" }),
      { step_id: "late", kind: "wait", payload: { signal: "go" }, on_rejected: "continue" },
    ]) {
      const run = await engine.submit(atomic(book("hotel"), late), { principal: botAgent, deadlineMs: 30_000 });
      expect(await stage.runUntilIdle(run)).toMatchObject({ final: false });
      await stage.advance(30_000);
      expect(await stage.runUntilIdle(run)).toMatchObject({
        status: "failed",
        steps: { late: { fault: { code: "DEADLINE_EXCEEDED" } } },
      });
      expect(world.splice(0)).toEqual(["book hotel", "cancel hotel"]);
    }
  });

  it("continues its rollback in another process after a crash", async () => {
    const { tool, world } = booking();
    const stage = newStage();
    const first = await stage.open({ tools: [sow, tool, fails], slices });
    const plan = atomic(step("a", "sow", { bed: "north" }), book("one"), book("two"), step("last", "fails"));
    const run = await first.submit(plan, { principal: botAgent, project, requestKey: "k" });
    await stage.advance(0);
    await stage.crash();
    const next = await stage.open({ tools: [sow, tool, fails], slices });
    const again = await next.submit(plan, { principal: botAgent, project, requestKey: "k" });
    void run;
    expect(await stage.runUntilIdle(again)).toMatchObject({ status: "failed" });
    const count = (what: string) => world.filter((each) => each === what).length;
    for (const what of ["one", "two"]) expect(count(`cancel ${what}`)).toBe(count(`book ${what}`));
    expect((await stateOf(next)).beds).toEqual([]);
  });
});

describe("the files of an atomic plan", () => {
  it("go back, except those that another call has changed since", async () => {
    const [kind] = storeKinds;
    const stage = (kind as (typeof storeKinds)[number]).newFixture();
    const files = new MemoryFilesystem({ files: { kept: "as it was", shared: "as it was" } });
    const write = scriptedTool(
      "write",
      async ({ input, context }) => {
        await context.resource<Filesystem>("files").write(String(input.path), String(input.text));
        return {};
      },
      { effect: "writes", resources: { files: "handle" } },
    ).tool;
    const engine = await stage.open({ tools: [write], resources: { files } });
    const put = (step_id: string, path: string) => step(step_id, "write", { path, text: "plan" });
    const plan = atomic(put("a", "kept"), put("b", "shared"), put("c", "made/new"), wait);
    const run = await engine.submit(plan, { principal: botAgent, project });
    await run.result();
    await engine.call("write", { path: "shared", text: "other" }, { principal: botAgent, project });
    await run.cancel();
    const result = await stage.runUntilIdle(run);
    expect(result.rollback?.files).toMatchObject({ restored: 2, left: 1, places: [{ path: "shared" }] });
    const now = await files.open(await files.capture("look", "handle"));
    expect([await now.readText("kept"), await now.readText("shared"), await now.stat("made")]).toEqual([
      "as it was",
      "other",
      null,
    ]);
  });
});
