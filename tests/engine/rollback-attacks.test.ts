import { describe, expect, it } from "vitest";
import type { RunResult } from "../../src/core/run/run-result.ts";
import type { Store } from "../../src/core/store/store.ts";
import type { RunHandle } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import {
  deferred,
  neverAnswers,
  rejectedFault,
  scriptedTool,
  type ToolBehaviour,
  throwsFault,
} from "./scripted-tool.ts";

const rooms = defineSlice({ name: "rooms", shape: "map", entry: {} });
const slices = [rooms];
const project = "trip";
const as = { principal: anaPerson };

const fails = scriptedTool("fails", throwsFault("TOOL_FAILED"), { effect: "reads" }).tool;
const count = scriptedTool(
  "count",
  ({ context }) => {
    context.slice(rooms).set("booked", 2);
    return {};
  },
  { effect: "writes" },
).tool;

/** A tool that books and cancels in a world that it records. `undo` and `did` can replace what its handlers do. */
function booking({ undo, did, more = {} }: { undo?: ToolBehaviour; did?: ToolBehaviour; more?: object } = {}) {
  const world: string[] = [];
  const whatOf = (input: unknown) => (input as { readonly what: string }).what;
  const book: ToolBehaviour = ({ input }) => {
    world.push(`book ${whatOf(input)}`);
    return { number: 1 };
  };
  const cancel = (input: unknown) => {
    world.push(`cancel ${whatOf(input)}`);
  };
  const { tool } = scriptedTool("book", did ?? book, {
    compensate: async (act: { readonly input: unknown }, context: never) => {
      await undo?.({ input: act.input as never, context });
      cancel(act.input);
    },
    ...more,
  });
  return { tool, world };
}

const step = (step_id: string, name: string, more: object = {}) => ({ step_id, name, payload: {}, ...more });
const book = (what: string, more: object = {}) => ({ step_id: what, name: "book", payload: { what }, ...more });
const atomic = (...steps: readonly object[]) => ({ atomicity: "plan", steps });
const inOrder = (...steps: readonly object[]) => ({ ...atomic(...steps), sequential: true });

async function idle(stage: EngineFixture, run: RunHandle): Promise<RunResult> {
  return stage.runUntilIdle(run);
}

describe.each(storeKinds)("a rollback, on $name", ({ newFixture }) => {
  it("waits in the middle for a compensation in doubt, and undoes the earlier acts after it is settled", async () => {
    const undo: ToolBehaviour = ({ input }) => {
      if (input.what === "flight") return throwsFault("TOOL_FAILED")({ input } as never);
      return undefined;
    };
    const { tool, world } = booking({ undo });
    const stage = newFixture();
    const engine = await stage.open({ tools: [tool, fails] });
    const plan = inOrder(book("hotel"), book("flight"), step("last", "fails"));
    const run = await engine.submit(plan, { principal: botAgent });
    const waiting = await idle(stage, run);
    expect(waiting).toMatchObject({ status: "rolling_back", steps: { "undo.flight.1": { state: "in_doubt" } } });
    expect(world).toEqual(["book hotel", "book flight"]);
    await engine.resolve(run.run_id, "undo.flight.1", { ...as, as: "happened" });
    expect(await idle(stage, run)).toMatchObject({
      status: "failed",
      steps: { flight: { state: "compensated" }, hotel: { state: "compensated" } },
    });
    expect(world).toEqual(["book hotel", "book flight", "cancel hotel"]);
  });

  it("undoes an act whose handler answers after its timeout, when its receipt arrives", async () => {
    const answer = deferred<object>();
    const slow = scriptedTool("slow", () => answer.promise, { timeoutMs: 1000, compensate: async () => {} }).tool;
    const { tool, world } = booking();
    const stage = newFixture();
    const engine = await stage.open({ tools: [slow, tool] });
    const run = await engine.submit(inOrder(book("hotel"), step("slow", "slow")), { principal: botAgent });
    await stage.advance(1000);
    await run.cancel();
    await stage.advance(500);
    expect(await run.now()).toMatchObject({ status: "rolling_back", steps: { slow: { state: "in_doubt" } } });
    expect(world).toEqual(["book hotel"]);
    answer.keep({});
    await stage.advance(0);
    expect(await idle(stage, run)).toMatchObject({
      status: "cancelled",
      steps: { slow: { state: "compensated" }, hotel: { state: "compensated" } },
    });
    expect(world).toEqual(["book hotel", "cancel hotel"]);
  });

  it("undoes an act that was in flight when another step ended the plan", async () => {
    const [begun, answer] = [deferred<void>(), deferred<void>()];
    const world: string[] = [];
    const did: ToolBehaviour = async ({ input }) => {
      begun.keep();
      await answer.promise;
      world.push(`book ${input.what}`);
      return {};
    };
    const { tool, world: undone } = booking({ did });
    const stage = newFixture();
    const failsMeanwhile = scriptedTool(
      "fails",
      async ({ context, input }) => {
        await begun.promise;
        return throwsFault("TOOL_FAILED")({ context, input });
      },
      { effect: "reads" },
    ).tool;
    const engine = await stage.open({ tools: [tool, failsMeanwhile] });
    const run = await engine.submit(atomic(book("hotel"), step("last", "fails")), { principal: botAgent });
    const inFlight = { last: { state: "failed_final" }, hotel: { state: "running" } };
    await expect.poll(async () => (await run.now()).steps).toMatchObject(inFlight);
    answer.keep();
    expect(await idle(stage, run)).toMatchObject({ status: "failed", steps: { hotel: { state: "compensated" } } });
    expect([...world, ...undone]).toEqual(["book hotel", "cancel hotel"]);
  });

  it("closes open gates: an approval that arrives after it began makes no call", async () => {
    const { tool, world } = booking();
    const stage = newFixture();
    const engine = await stage.open({ tools: [tool, fails] });
    const held = book("flight", { gate: "human_confirm" });
    const wait = { step_id: "w", kind: "wait", payload: { ms: 1000 } };
    const plan = atomic(book("hotel"), held, wait, step("last", "fails", { depends_on: ["w"] }));
    const run = await engine.submit(plan, { principal: botAgent });
    const [gate] = (await idle(stage, run)).gates;
    await stage.advance(1000);
    expect(await idle(stage, run)).toMatchObject({ status: "failed", steps: { flight: { state: "skipped" } } });
    const late = await rejectedFault(engine.approve(gate?.gate_id ?? "", as));
    expect(late.code).toMatch(/^GATE_/);
    await stage.advance(60_000);
    expect(world).toEqual(["book hotel", "cancel hotel"]);
  });

  it("leaves an act whose held compensation a person rejects, lists it, and undoes the others", async () => {
    const { tool, world } = booking();
    const stage = newFixture();
    const trusting = { acme: { mode: "human_gated", trust: ["book"] } } as const;
    const first = await stage.open({ tools: [tool], tenants: trusting });
    const wait = { step_id: "w", kind: "wait", payload: { ms: 60_000 } };
    const run = await first.submit(inOrder(book("hotel"), book("flight"), wait), { principal: botAgent });
    await run.result();
    await first.close();
    const next = await stage.open({ tools: [tool], tenants: { acme: { mode: "human_gated" } } });
    const again = await next.run(run.run_id, as);
    await again.cancel();
    const [gate] = (await idle(stage, again)).gates;
    expect(gate).toMatchObject({ step_id: "undo.flight.1" });
    // No verb starts the plan again while its rollback waits.
    const at = { runId: run.run_id, stepId: "hotel", side: "after" } as const;
    const uses = [
      () => next.resume(run.run_id, as),
      () => next.checkpoints.fork(at, as),
      () => next.undo(run.run_id, as),
    ];
    for (const use of uses) expect((await rejectedFault(use())).code).toBe("NOT_POSSIBLE");
    await next.reject(gate?.gate_id ?? "", as);
    const [other] = (await idle(stage, again)).gates;
    expect(other).toMatchObject({ step_id: "undo.hotel.1" });
    await next.approve(other?.gate_id ?? "", as);
    const result = await idle(stage, again);
    expect(result).toMatchObject({
      status: "cancelled",
      next: `find out why flight of run ${run.run_id} was not undone, then resolve it as undo`,
      rollback: {
        acts: [
          { step_id: "flight", undone: "failed" },
          { step_id: "hotel", undone: "unconfirmed" },
        ],
      },
    });
    expect(world).toEqual(["book hotel", "book flight", "cancel hotel"]);
  });

  it("goes on past the deadline of its run, and a second cancellation changes nothing", async () => {
    const { tool, world } = booking({ more: { timeoutMs: 5000 } });
    const stage = newFixture();
    const post = scriptedTool("post", throwsFault("TOOL_FAILED"), { compensate: async () => {} }).tool;
    const engine = await stage.open({ tools: [tool, post] });
    const plan = inOrder(book("hotel"), step("post", "post"));
    const run = await engine.submit(plan, { principal: botAgent, deadlineMs: 10_000 });
    await idle(stage, run);
    await run.cancel();
    await stage.advance(20_000);
    await run.cancel();
    expect(await idle(stage, run)).toMatchObject({ status: "rolling_back" });
    await engine.resolve(run.run_id, "post", { ...as, as: "absent" });
    expect(await idle(stage, run)).toMatchObject({ status: "cancelled", steps: { hotel: { state: "compensated" } } });
    expect(world).toEqual(["book hotel", "cancel hotel"]);
  });

  it("puts the state of a locked project back, too", async () => {
    const { tool, world } = booking();
    const stage = newFixture();
    const engine = await stage.open({ tools: [tool, count, fails], slices });
    const wait = { step_id: "w", kind: "wait", payload: { ms: 1000 } };
    const plan = inOrder(step("count", "count"), book("hotel"), wait, step("late", "count"));
    const run = await engine.submit(plan, { principal: botAgent, project });
    await idle(stage, run);
    await engine.projects.close(project, { ...as, as: "locked", reason: "audit" });
    await stage.advance(1000);
    expect(await idle(stage, run)).toMatchObject({
      status: "failed",
      steps: { late: { fault: { code: "PROJECT_LOCKED" } } },
      rollback: { state: { restored: 1, left: 0 } },
    });
    expect((await engine.state({ ...as, project })).slice(rooms).all()).toEqual([]);
    expect(world).toEqual(["book hotel", "cancel hotel"]);
  });

  it("is continued by another process that asks the verifier about a compensation that was cut off", async () => {
    const world: string[] = [];
    const what = (input: unknown) => (input as { readonly what: string }).what;
    const tool = (undo: ToolBehaviour) =>
      scriptedTool("book", ({ input }) => world.push(`book ${what(input)}`) && {}, {
        compensate: async (act: { readonly input: unknown }) => {
          world.push(`cancel ${what(act.input)}`);
          await undo(act as never);
        },
        verify: async ({ input }: { readonly input: unknown }) =>
          world.includes(`cancel ${what(input)}`)
            ? ({ saw: "absent" } as const)
            : { saw: "happened" as const, output: {} },
      }).tool;
    const stage = newFixture();
    const first = await stage.open({ tools: [tool(neverAnswers), fails] });
    const plan = inOrder(book("hotel"), book("flight"), step("last", "fails"));
    await first.submit(plan, { principal: botAgent, requestKey: "k" });
    await stage.advance(0);
    expect(world).toEqual(["book hotel", "book flight", "cancel flight"]);
    await stage.crash();
    const [second, third] = [
      await stage.open({ tools: [tool(() => undefined), fails] }),
      await stage.open({ tools: [tool(() => undefined), fails] }),
    ];
    const run = await second.submit(plan, { principal: botAgent, requestKey: "k" });
    expect(await idle(stage, run)).toMatchObject({
      status: "failed",
      steps: { hotel: { state: "compensated" }, flight: { state: "compensated" } },
    });
    expect(world).toEqual(["book hotel", "book flight", "cancel flight", "cancel hotel"]);
    expect(await third.audit(as)).toMatchObject({ broken: [], rows: [], tallies: [] });
  });
});

/** Kills the process before its nth append, or after the append landed and before its answer. */
interface Kill {
  readonly append: number;
  readonly when: "before" | "after";
}

/** An atomic plan that fails at its end, and whose process is killed. */
class KilledPlan {
  readonly world: string[] = [];
  readonly #stage: EngineFixture;
  #isDead = false;

  constructor(stage: EngineFixture) {
    this.#stage = stage;
  }

  get #tools() {
    const what = (input: unknown) => (input as { readonly what: string }).what;
    const done = (did: string, input: unknown) => this.world.includes(`${did} ${what(input)}`);
    const tool = scriptedTool("book", ({ input }) => this.world.push(`book ${what(input)}`) && {}, {
      compensate: async ({ input }: { readonly input: unknown }) => void this.world.push(`cancel ${what(input)}`),
      verify: async ({ input }: { readonly input: unknown }) =>
        done("book", input) && !done("cancel", input)
          ? ({ saw: "happened", output: {} } as const)
          : ({ saw: "absent" } as const),
    }).tool;
    return [tool, count, fails];
  }

  async start(kill: Kill | null): Promise<number | null> {
    this.#isDead = false;
    let appends = 0;
    const real = this.#stage.store();
    const append: Store["append"] = async (entries) => {
      appends += 1;
      if (kill?.append === appends && kill.when === "before") return this.#die();
      const landed = await real.append(entries);
      return kill?.append === appends && kill.when === "after" ? this.#die() : landed;
    };
    const engine = await this.#stage.open({ tools: this.#tools, slices, store: { ...real, append } });
    let result: RunResult | null = null;
    const plan = inOrder(step("count", "count"), book("hotel"), book("flight"), step("last", "fails"));
    void engine.submit(plan, { principal: botAgent, project, requestKey: "k" }).then(async (run) => {
      result = await run.finished();
    });
    for (let passed = 0; result === null && !this.#isDead && passed < 300_000; passed += 250)
      await this.#stage.advance(250);
    if (this.#isDead || result === null) return null;
    expect((result as RunResult).status).toBe("failed");
    expect((await engine.state({ ...as, project })).slice(rooms).all()).toEqual([]);
    expect(await engine.audit(as)).toMatchObject({ broken: [], rows: [], tallies: [] });
    return appends;
  }

  #die(): Promise<never> {
    this.#isDead = true;
    void this.#stage.crash();
    return new Promise(() => {});
  }
}

describe.each(storeKinds)("an atomic plan that is killed at every append, on $name", ({ newFixture }) => {
  it("leaves nothing behind and undoes nothing twice", async () => {
    const appends = await new KilledPlan(newFixture()).start(null);
    expect(appends).toBeGreaterThan(8);
    for (let append = 1; append <= (appends ?? 0); append += 1)
      for (const when of ["before", "after"] as const) {
        const killed = new KilledPlan(newFixture());
        const about = `killed ${when} append ${append}`;
        if ((await killed.start({ append, when })) === null) expect(await killed.start(null), about).not.toBeNull();
        for (const what of ["hotel", "flight"]) {
          const times = (did: string) => killed.world.filter((each) => each === `${did} ${what}`).length;
          expect([times("book"), times("cancel")], about).toEqual([1, 1]);
        }
      }
  });
});
