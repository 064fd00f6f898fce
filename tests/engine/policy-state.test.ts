import { describe, expect, it } from "vitest";
import { listStepDecisions } from "../../src/cli/list-step-decisions.ts";
import type { Engine, RecordedEvent, RunHandle } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const at = { principal: botAgent, project: "shop" };
const orders = defineSlice({
  name: "orders",
  shape: "map",
  entry: {},
  reducers: { shipped: (slice, { order }: { order: string }) => slice.set(order, { status: "shipped", left: -1 }) },
});
const visits = defineSlice({ name: "visits", shape: "list", scope: "session", entry: {} });
const slices = [orders, visits];

const document = (rules: readonly object[], more: object = {}) => ({
  schema_version: "1.0",
  name: "house",
  rules,
  ...more,
});
const paid = {
  id: "paid",
  kind: "state",
  on: { tools: ["ship", "pack"] },
  state: { order: ["orders", { input: "/order" }], name: ["orders", { input: "/order" }, "name"] },
  expression: "state.order.status == 'paid' && (!has(state.name) || state.name == input.name)",
  reason: "only what is paid",
};
const one = (name: string, payload: object) => ({ steps: [{ step_id: "a", name, payload }] });

const book = scriptedTool(
  "book",
  ({ input, context: { slice } }) => {
    slice(orders).set(String(input.order), input.entry as never);
    return {};
  },
  { effect: "writes" },
);
const ships = () => scriptedTool("ship", () => ({ shipped: true }), { identity: ["order"] });

async function tried(engine: Engine, name: string, payload: object): Promise<RunHandle> {
  const run = await engine.submit(one(name, payload), at);
  await run.result();
  return run;
}

async function explained(run: RunHandle) {
  const journal: RecordedEvent[] = [];
  for await (const recorded of run.events()) journal.push(recorded);
  return listStepDecisions(journal, "a" as never);
}

describe.each(storeKinds)("state rule, on $name", ({ newFixture: newStage }) => {
  it("admits a call only while it holds for the entry that the input names", async () => {
    const { tool, calls } = ships();
    const engine = await newStage().open({ tools: [book.tool, tool], slices, policies: [document([paid])] });
    const ends = async (order: string) => (await (await tried(engine, "ship", { order })).result()).steps.a?.state;
    expect(await ends("a/b~c.d")).toBe("rejected");
    await engine.call("book", { order: "a/b~c.d", entry: { status: "open" } }, at);
    expect(await ends("a/b~c.d")).toBe("rejected");
    await engine.call("book", { order: "a/b~c.d", entry: { status: "paid" } }, at);
    expect(await ends("a/b~c.d")).toBe("succeeded");
    expect(await ends("a")).toBe("rejected");
    expect(calls).toHaveLength(1);
  });

  it("records rule, reason and policy", async () => {
    const engine = await newStage().open({ tools: [book.tool, ships().tool], slices, policies: [document([paid])] });
    await engine.call("book", { order: "o", entry: { status: "open" } }, at);
    const run = await tried(engine, "ship", { order: "o" });
    const [refused] = await collectEvents(run, "step.rejected");
    expect(refused).toMatchObject({ rule: "global/house/paid", fault: { code: "POLICY_DENIED" } });
    expect(refused?.fault.message).toContain("only what is paid (state.order.status == 'paid'");
    expect(await explained(run)).toMatchObject([{ decision: "refused", rule: "global/house/paid" }]);
  });

  it.each([
    ["a place that the input does not name", { order: 1.5 }, "the input does not contain the pointer of order"],
    ["a place that is not there", { order: "toString" }, "cannot be evaluated"],
    ["another kind of value", { order: "list" }, "cannot be evaluated"],
  ])("refuses what cannot be evaluated: %s", async (_, payload, why) => {
    const { tool, calls } = ships();
    const engine = await newStage().open({ tools: [book.tool, tool], slices, policies: [document([paid])] });
    await engine.call("book", { order: "list", entry: [1] }, at);
    const run = await tried(engine, "ship", payload);
    expect((await collectEvents(run, "step.rejected"))[0]?.fault.message).toContain(why);
    expect(calls).toHaveLength(0);
  });

  it("refuses where its slice is not declared", async () => {
    const { tool, calls } = ships();
    const engine = await newStage().open({ tools: [tool], policies: [document([paid])] });
    const run = await tried(engine, "ship", { order: "o" });
    expect((await collectEvents(run, "step.rejected"))[0]?.fault.message).toContain("not in a slice of this engine");
    expect(calls).toHaveLength(0);
  });

  it("is evaluated again when a held step continues, on the current state", async () => {
    const { tool, calls } = ships();
    const policies = [document([paid, { id: "ask", kind: "approval", on: { tools: ["ship"] } }])];
    const engine = await newStage().open({ tools: [book.tool, tool], slices, policies });
    await engine.call("book", { order: "o", entry: { status: "paid" } }, at);
    const held = await engine.submit(one("ship", { order: "o" }), at);
    const { gates } = await held.result();
    await engine.call("book", { order: "o", entry: { status: "cancelled" } }, at);
    await engine.approve(gates[0]?.gate_id as string, { principal: anaPerson });
    await held.result();
    expect(await collectEvents(held, "step.rejected")).toMatchObject([{ rule: "global/house/paid" }]);
    expect(calls).toHaveLength(0);
  });

  it("fails no unrelated write, and evaluates again after a conflict", async () => {
    let overtake = async () => {};
    const pack = scriptedTool(
      "pack",
      async ({ input, context: { slice } }) => {
        await overtake();
        slice(orders).set(`packed ${String(input.order)}`, {});
        return {};
      },
      { effect: "writes" },
    );
    const engine = await newStage().open({ tools: [book.tool, pack.tool], slices, policies: [document([paid])] });
    await engine.call("book", { order: "o", entry: { status: "paid" } }, at);
    overtake = async () => void (await engine.call("book", { order: "p", entry: {} }, at));
    await tried(engine, "pack", { order: "o" });
    expect(pack.calls).toHaveLength(1);
    overtake = async () => void (await engine.call("book", { order: "o", entry: { status: "cancelled" } }, at));
    const late = await tried(engine, "pack", { order: "o" });
    expect((await late.result()).steps.a).toMatchObject({ state: "rejected" });
    expect(pack.calls).toHaveLength(2);
    expect((await engine.state(at)).version).toBe(4);
  });

  it("sees the session's own state", async () => {
    const { tool, calls } = ships();
    const rule = { id: "came", kind: "state", state: { first: "/visits/0" }, expression: "state.first == 'yes'" };
    const visit = scriptedTool(
      "visit",
      ({ context: { slice } }) => {
        slice(visits).append("yes");
        return {};
      },
      { effect: "writes" },
    );
    const policies = [document([{ ...rule, on: { tools: ["ship"] } }])];
    const engine = await newStage().open({ tools: [visit.tool, tool], slices, policies });
    await engine.call("visit", {}, { ...at, session: "s" });
    for (const session of ["s", "t"])
      await (await engine.submit(one("ship", { order: session }), { ...at, session })).result();
    expect(calls.map(({ input }) => input.order)).toEqual(["s"]);
  });
});

// One process at a time works on a file of SQLite.
describe.each(storeKinds.filter(({ name }) => name !== "SQLite"))(
  "state rule, on $name",
  ({ newFixture: newStage }) => {
    it("sees what another process has written", async () => {
      const { tool, calls } = ships();
      const stage = newStage();
      const engine = await stage.open({ tools: [book.tool, tool], slices, policies: [document([paid])] });
      await engine.call("book", { order: "o", entry: { status: "paid" } }, at);
      const other = await stage.open({ tools: [book.tool], slices, policies: [document([])] });
      await other.call("book", { order: "o", entry: { status: "cancelled" } }, at);
      const run = await tried(engine, "ship", { order: "o" });
      expect((await run.result()).steps.a).toMatchObject({ state: "rejected" });
      expect(calls).toHaveLength(0);
    });
  },
);

describe.each(storeKinds)("invariant, on $name", ({ newFixture: newStage }) => {
  const entries = {
    id: "stock",
    kind: "invariant",
    slice: "orders",
    expression: "!has(entry.left) || entry.left >= 0",
  };
  const together = {
    id: "sum",
    kind: "invariant",
    state: { a: "/orders/a/left", b: ["orders", "b", "left"] },
    expression: "!has(state.a) || !has(state.b) || state.a + state.b <= 10",
    reason: "the shelf is full",
  };
  const open = async (rules: readonly object[], more: readonly { tool: (typeof book)["tool"] }[] = []) =>
    newStage().open({ tools: [book.tool, ...more.map(({ tool }) => tool)], slices, policies: [document(rules)] });

  it("fails the call that breaks it, records its name, and publishes nothing", async () => {
    const engine = await open([entries]);
    await engine.call("book", { order: "a/b", entry: { left: 0 } }, at);
    const run = await tried(engine, "book", { order: "a/b", entry: { left: -1 } });
    const [failed] = await collectEvents(run, "step.failed");
    expect(failed?.fault).toEqual({
      code: "STATE_INVALID",
      message: `policy global/house/stock: ${entries.expression} is false for a/b`,
      detail: { rule: "global/house/stock", policy: expect.stringMatching(/^pol_/) },
    });
    expect(await explained(run)).toMatchObject([{ decision: "failed", rule: "global/house/stock" }]);
    expect((await engine.state(at)).slice(orders).all()).toEqual([["a/b", { left: 0 }]]);
    expect((await engine.state(at)).version).toBe(1);
  });

  it("covers several entries together, on the latest state of others", async () => {
    const engine = await open([together]);
    await Promise.all(["a", "b"].map((order) => tried(engine, "book", { order, entry: { left: 6 } })));
    expect((await engine.state(at)).slice(orders).size).toBe(1);
    await engine.call("book", { order: "c", entry: { left: 60 } }, at);
    const run = await tried(engine, "book", { order: "a", entry: { left: 11 } });
    await tried(engine, "book", { order: "b", entry: { left: 11 } });
    const left = (await engine.state(at))
      .slice(orders)
      .all()
      .filter(([key]) => key !== "c");
    expect(left.map(([, entry]) => (entry as { left: number }).left).reduce((sum, each) => sum + each)).not.toBe(22);
    expect((await run.result()).status).toMatch(/completed|failed/);
  });

  it("that cannot be evaluated does not hold", async () => {
    const engine = await open([{ ...entries, expression: "entry.left >= 0" }]);
    const run = await tried(engine, "book", { order: "a", entry: {} });
    expect((await run.result()).steps.a).toMatchObject({
      fault: { code: "STATE_INVALID", message: expect.stringContaining("cannot be evaluated for a") },
    });
    expect((await engine.state(at)).version).toBe(0);
  });

  it("is not evaluated on more entries than the time limit allows", async () => {
    const fill = scriptedTool(
      "fill",
      ({ input, context: { slice } }) => {
        slice(orders).replace(Object.fromEntries(Array.from({ length: Number(input.many) }, (_, key) => [key, {}])));
        return {};
      },
      { effect: "writes" },
    );
    const engine = await open([entries], [fill]);
    expect((await (await tried(engine, "fill", { many: 2000 })).result()).status).toBe("completed");
    expect((await (await tried(engine, "fill", { many: 2001 })).result()).steps.a).toMatchObject({
      fault: { code: "STATE_INVALID", message: expect.stringContaining("more than 2000 evaluations") },
    });
  });

  it("leaves the act recorded when state refuses it", async () => {
    const act = scriptedTool("act", ({ context: { dispatch } }) => {
      dispatch("shipped", { order: "a" });
      return { ok: true };
    });
    const engine = await open([entries], [act]);
    const run = await tried(engine, "act", {});
    expect((await run.result()).steps.a).toMatchObject({ fault: { code: "STATE_AFTER_ACT" } });
    expect((await engine.state(at)).version).toBe(0);
  });

  it("is not bypassed by a restore", async () => {
    const engine = await open([]);
    const early = await tried(engine, "book", { order: "a", entry: { left: -1 } });
    await engine.call("book", { order: "a", entry: { left: 1 } }, at);
    await engine.policies.set(document([entries], { scope: { tenant: "acme" } }), { principal: anaPerson });
    const back = { runId: early.run_id, stepId: "a", side: "after" } as const;
    expect(await rejectedFault(engine.checkpoints.restore(back, { principal: anaPerson }))).toMatchObject({
      code: "STATE_INVALID",
      detail: { rule: "tenant/house/stock" },
    });
    expect((await engine.state(at)).slice(orders).get("a")).toEqual({ left: 1 });
  });
});
