import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../src/core/tool/tool.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { collectJournal, scriptedTool } from "./scripted-tool.ts";

const beds = defineSlice({
  name: "beds",
  shape: "map",
  entry: { type: "integer" },
  reducers: { watered: (slice, event) => slice.set(event, 1) },
});
const mine = defineSlice({ name: "mine", shape: "list", scope: "session", entry: { type: "string" } });
const calls = defineSlice({
  name: "tool_invoked",
  shape: "list",
  entry: { type: "object" },
  reducers: { "tool.invoked": (slice, event) => slice.append(event) },
});
const slices = [beds, mine, calls];
const at = { principal: botAgent, project: "garden" };
const one = (name: string, more: object = {}) => ({ steps: [{ step_id: "a", name, ...more }] });

const tool = (work: (context: ToolContext) => unknown, declared: object, effect = "writes") =>
  scriptedTool("work", async ({ context }) => (await work(context)) ?? { ok: true }, { effect, ...declared } as never);

const north = { stateWrites: ["/beds/north"] };

describe.each(storeKinds)("tool that declares its state access, on $name", ({ newFixture: newStage }) => {
  it.each<[string, (context: ToolContext) => unknown, object]>([
    ["writes beside it", ({ slice }) => slice(beds).set("south", 1), north],
    ["writes around it", ({ slice }) => slice(beds).replace({ north: 1 }), north],
    ["dispatches beside it", ({ dispatch }) => dispatch("watered", "south"), north],
    ["writes in another slice", ({ slice }) => slice(mine).append("x"), north],
    ["reads beside it", ({ slice }) => slice(beds).get("south"), { ...north, stateReads: ["/beds/east"] }],
    ["reads all of it", ({ slice }) => slice(beds).size, { ...north, stateReads: ["/beds/east"] }],
    ["looks away from the refusal", ({ slice }) => void caught(() => slice(beds).set("south", 1)), north],
    ["declares that it writes nothing", ({ slice }) => slice(beds).set("north", 1), { stateWrites: [] }],
  ])("fails and leaves nothing when it %s", async (_, work, declared) => {
    const stage = newStage();
    const given = tool((context) => {
      if (declared === north) context.slice(beds).set("north", 7);
      return work(context);
    }, declared);
    const engine = await stage.open({ tools: [given.tool], slices });
    const run = await engine.submit(one("work"), { ...at, session: "s" });
    expect((await run.result()).steps.a).toMatchObject({ state: "failed_final", fault: { code: "STATE_FORBIDDEN" } });
    const state = await engine.state({ ...at, session: "s" });
    expect([state.slice(beds).all(), state.slice(mine).all()]).toEqual([[], []]);
    expect(state.slice(calls).all()).toMatchObject([{ success: false, fault: { code: "STATE_FORBIDDEN" } }]);
  });

  it("does what it declared, in its session, and call events need no declaration", async () => {
    const stage = newStage();
    const given = tool(
      ({ slice }) => {
        slice(beds).set("north", Number(slice(beds).get("north") ?? 0) + Number(slice(beds).get("east") ?? 1));
        slice(mine).append("x");
      },
      { stateWrites: ["/beds/north", "mine"], stateReads: ["/beds/east"] },
    );
    const engine = await stage.open({ tools: [given.tool], slices });
    await (await engine.submit(one("work"), { ...at, session: "s" })).result();
    const state = await engine.state({ ...at, session: "s" });
    expect([state.slice(beds).get("north"), state.slice(mine).all(), state.slice(calls).size]).toEqual([1, ["x"], 1]);
  });

  it("is limited to the plan's declaration where that is narrower", async () => {
    const stage = newStage();
    const given = tool(({ slice }) => slice(beds).set("north", 1), { stateWrites: ["beds"] });
    const engine = await stage.open({ tools: [given.tool], slices });
    const run = await engine.submit(one("work", { state_writes: ["/beds/south"] }), at);
    expect((await run.result()).steps.a).toMatchObject({ fault: { code: "STATE_FORBIDDEN" } });
    const beyond = engine.check(one("work", { state_writes: ["/mine"], state_reads: ["beds"] }));
    expect(beyond.reasons).toMatchObject([{ path: "/steps/0/state_reads" }, { path: "/steps/0/state_writes" }]);
  });

  it("that acts keeps its act and drops its state when it dispatches beyond its declaration", async () => {
    const stage = newStage();
    const given = tool(({ dispatch }) => dispatch("watered", "south"), north, "acts");
    const engine = await stage.open({ tools: [given.tool], slices });
    const run = await engine.submit(one("work"), at);
    expect((await run.result()).steps.a).toMatchObject({ fault: { code: "STATE_AFTER_ACT" } });
    expect((await engine.state(at)).slice(beds).size).toBe(0);
  });

  it("waits for conflicting steps and for no others", async () => {
    const stage = newStage();
    const order: string[] = [];
    const given = scriptedTool(
      "work",
      async ({ input, context: { slice } }) => {
        order.push(`${String(input.n)} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        slice(beds).set(String(input.bed), Number(input.n));
        order.push(`${String(input.n)} ends`);
        return { ok: true };
      },
      { effect: "writes" },
    );
    const engine = await stage.open({ tools: [given.tool], slices });
    const step = (n: number, bed: string, ...depends_on: readonly string[]) => ({
      step_id: `s${n}`,
      name: "work",
      payload: { n, bed },
      state_writes: [`/beds/${bed}`],
      depends_on,
    });
    const plan = { steps: [step(1, "north", "s3"), step(2, "south"), step(3, "north")] };
    const run = await engine.submit(plan, at);
    expect((await run.result()).status).toBe("completed");
    expect(order.filter((each) => each.startsWith("2"))).toHaveLength(2);
    expect(order.filter((each) => !each.startsWith("2"))).toEqual(["3 begins", "3 ends", "1 begins", "1 ends"]);
    expect(given.calls).toHaveLength(3);
    expect((await collectJournal(run))[0]).toMatchObject({
      plan: { steps: [{ depends_on: ["s3"] }, { state_writes: ["/beds/south"] }, { step_id: "s3" }] },
    });
  });
});

function caught(work: () => void): void {
  try {
    work();
  } catch {}
}
