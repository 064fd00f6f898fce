import { describe, expect, it } from "vitest";
import type { RunResult } from "../../src/core/run/run-result.ts";
import type { Store } from "../../src/core/store/store.ts";
import { defineReplanner } from "../../src/schema/define-replanner.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool, throwsFault } from "./scripted-tool.ts";

/** Kills the process before its nth append, or after the append landed and before its answer. */
interface Kill {
  readonly append: number;
  readonly when: "before" | "after";
}

const mail = (step_id: string) => ({ step_id, name: "mail", payload: { to: "ana" } });
const plan = { steps: [mail("tell"), { step_id: "order", name: "broken", depends_on: ["tell"] }] };

/** A run that is replanned twice, by a replanner that never answers the same, and whose process is killed. */
class KilledRun {
  sent = 0;
  asked = 0;
  /** The payments of all plans, each with the number of the answer that proposed it. */
  readonly paid: number[] = [];
  readonly #stage: EngineFixture;
  #isDead = false;

  constructor(stage: EngineFixture) {
    this.#stage = stage;
  }

  get #tools() {
    const happened = (did: boolean) =>
      did ? ({ saw: "happened", output: { done: true } } as const) : ({ saw: "absent" } as const);
    const send = () => {
      this.sent += 1;
      return { done: true };
    };
    const pay = ({ input }: { readonly input: { readonly no?: unknown } }) => {
      this.paid.push(Number(input.no));
      return { done: true };
    };
    const replan = () => {
      this.asked += 1;
      const steps = [mail("tell"), { step_id: "pay", name: "pay", payload: { no: this.asked }, depends_on: ["tell"] }];
      return { steps: [...steps, { step_id: "order", name: "broken", depends_on: ["pay"] }] };
    };
    const verified = (done: (input: { readonly no?: unknown }) => boolean) => ({
      identity: ["to"],
      verify: async ({ input }: { readonly input: unknown }) => happened(done(input as { readonly no?: unknown })),
    });
    return [
      scriptedTool(
        "mail",
        send,
        verified(() => this.sent > 0),
      ).tool,
      scriptedTool("pay", pay, { ...verified(({ no }) => this.paid.includes(Number(no))), identity: ["no"] }).tool,
      scriptedTool("broken", throwsFault("POLICY_DENIED"), { effect: "reads" }).tool,
      defineReplanner({ name: "planner", replan }),
    ];
  }

  /** Runs the plan in a new process until it has ended. Returns the number of its appends, or null if it was killed. */
  async start(kill: Kill | null): Promise<{ readonly appends: number; readonly result: RunResult } | null> {
    this.#isDead = false;
    let appends = 0;
    const real = this.#stage.store();
    const append: Store["append"] = async (entries) => {
      appends += 1;
      if (kill?.append === appends && kill.when === "before") return this.#die();
      const landed = await real.append(entries);
      return kill?.append === appends && kill.when === "after" ? this.#die() : landed;
    };
    const engine = await this.#stage.open({ tools: this.#tools, store: { ...real, append } });
    let result: RunResult | null = null;
    const replan = { by: "planner", attempts: 2, delayMs: 50 };
    void engine.submit(plan, { principal: botAgent, requestKey: "tell ana", replan }).then(async (run) => {
      result = await run.finished();
    });
    for (let passed = 0; result === null && !this.#isDead && passed < 300_000; passed += 250)
      await this.#stage.advance(250);
    if (this.#isDead || result === null) return null;
    await this.#assertRecord(await engine.run((result as RunResult).run_id, { principal: anaPerson }));
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [], tallies: [] });
    return { appends, result };
  }

  /** Every act was done once, and only by steps of plans on record. */
  async #assertRecord(run: Parameters<typeof collectEvents>[0]): Promise<void> {
    const replanned = await collectEvents(run, "run.replanned");
    const planned = replanned.flatMap(({ plan: { steps } }) =>
      steps.filter(({ name }) => name === "pay").map(({ payload }) => payload?.no),
    );
    expect(replanned.length).toBe(2);
    expect(this.sent).toBe(1);
    expect(this.paid).toEqual(planned);
  }

  #die(): Promise<never> {
    this.#isDead = true;
    void this.#stage.crash();
    return new Promise(() => {});
  }
}

describe.each(storeKinds)("a run that is replanned and killed at every append, on $name", ({ newFixture }) => {
  it("ends as without a kill: each act is done once, and a recorded answer is not asked for again", async () => {
    const whole = new KilledRun(newFixture());
    const done = await whole.start(null);
    expect(done?.result).toMatchObject({ status: "partial", replanned: { plans: 3, asked: 2 } });
    expect(whole.asked).toBe(2);
    const appends = done?.appends ?? 0;
    expect(appends).toBeGreaterThan(8);
    for (let append = 1; append <= appends; append += 1)
      for (const when of ["before", "after"] as const) {
        const killed = new KilledRun(newFixture());
        const first = await killed.start({ append, when });
        const last = first ?? (await killed.start(null));
        expect(last?.result, `killed ${when} append ${append}`).toMatchObject({
          status: "partial",
          replanned: { plans: 3, asked: 2 },
        });
        expect(killed.asked, `killed ${when} append ${append}`).toBeLessThanOrEqual(3);
      }
  });
});
