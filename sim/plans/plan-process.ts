import type { Store } from "../../src/core/store/store.ts";
import { notDone } from "../../src/core/values/fault.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import type { Rng } from "../rng.ts";
import { scheduledStore } from "../sessions/session-process.ts";
import type { VirtualScheduler } from "../virtual-scheduler.ts";
import type { PlanCase } from "./plan-case.ts";

/** The shared objects of one case. */
export interface PlanContext {
  readonly rng: Rng;
  readonly scheduler: VirtualScheduler;
  readonly store: Store;
  readonly plan: PlanCase;
  /** By act: how often it was done and undone. */
  readonly world: Map<string, { done: number; undone: number }>;
  /** By step: how often its call has failed. */
  readonly failures: Map<string, number>;
  readonly counts: PlanCounters;
  newId(prefix: string): string;
  violate(law: string): void;
}

type PlanCounters = ReturnType<typeof newPlanCounters>;

/** The events that must occur in a search: a case that never rolls back proves nothing. */
export function newPlanCounters() {
  return { killed: 0, atomic: 0, rolledBack: 0, cancelled: 0, undone: 0, notUndone: 0, doubts: 0 };
}

export const entries = defineSlice({ name: "entries", shape: "map", entry: {} });

const anything = {} as const;

/** A process with one engine. A killed process hears nothing any more. */
export class PlanProcess {
  readonly number: number;
  isAlive = true;
  readonly opened: Promise<Engine>;
  readonly #sim: PlanContext;

  constructor(sim: PlanContext, number: number) {
    this.#sim = sim;
    this.number = number;
    this.opened = this.#open();
    this.opened.catch((error: unknown) => sim.violate(`an engine does not start: ${String(error)}`));
  }

  #open(): Promise<Engine> {
    const { scheduler, newId, store } = this.#sim;
    return createEngine({
      store: scheduledStore({ store, scheduler, observer: null }, this),
      tools: this.#tools(),
      slices: [entries],
      tenants: { acme: { mode: "auto_exec" } },
      limits: { takeovers: 1_000_000 },
      stopwatch: () => scheduler.now(),
      timers: { after: (ms, work) => (this.isAlive ? scheduler.after(ms, work, this.number) : () => {}) },
      dice: () => 0,
      newId,
    });
  }

  #tools() {
    const common = { input: anything, output: anything, timeoutMs: 20_000, retry: "any" } as const;
    const act = { ...common, effect: "acts", settleAfter: 1000, errorsMean: "not_done" } as const;
    const run = (input: unknown) => this.#call(input, (id) => this.#happen(id, "done"));
    const verify = async ({ input }: { readonly input: unknown }) => {
      const { done = 0, undone = 0 } = this.#sim.world.get(idOf(input)) ?? {};
      return done > undone ? ({ saw: "happened", output: {} } as const) : ({ saw: "absent" } as const);
    };
    return [
      defineTool({ ...act, name: "act", run, verify }),
      defineTool({ ...act, name: "act_back", run, verify, compensate: ({ input }) => this.#undo(idOf(input)) }),
      defineTool({ ...common, name: "read", effect: "reads", run: (input) => this.#call(input, () => {}) }),
      defineTool({
        ...common,
        name: "write",
        effect: "writes",
        run: async (input, context) => {
          const { id, key } = input as { readonly id: string; readonly key: string };
          context.slice(entries).set(key, id);
          return this.#call(input, () => {});
        },
      }),
    ];
  }

  #happen(id: string, what: "done" | "undone"): void {
    const found = this.#sim.world.get(id) ?? { done: 0, undone: 0 };
    found[what] += 1;
    this.#sim.world.set(id, found);
    if (found[what] > 1) this.#sim.violate(`P6: ${id} was ${what} ${found[what]} times`);
  }

  /** A call that the plan makes fail says that nothing was done. */
  #call(input: unknown, work: (id: string) => void): Promise<Record<string, never>> {
    const { plan, failures } = this.#sim;
    const id = idOf(input);
    const failed = failures.get(id) ?? 0;
    const wanted = plan.steps.find((step) => step.id === id)?.failures ?? 0;
    if (failed < wanted) {
      if (wanted !== Number.POSITIVE_INFINITY) failures.set(id, failed + 1);
      return this.#later("failure", id, () => {
        throw notDone("TOOL_FAILED", "the case says so");
      });
    }
    return this.#later("effect", id, () => work(id));
  }

  #undo(id: string): Promise<Record<string, never>> {
    const { plan, world, violate } = this.#sim;
    if (plan.steps.find((step) => step.id === id)?.undo === "works")
      return this.#later("undo", id, () => this.#happen(id, "undone"));
    if ((world.get(id)?.done ?? 0) === 0) violate(`P7: ${id} is undone, and was not done`);
    return this.#later("undo", id, () => {
      throw notDone("TOOL_FAILED", "the compensation fails");
    });
  }

  /** The work happens at a later step, if the process or its request still lives then, and is answered after that. */
  #later(name: string, about: string, work: () => void): Promise<Record<string, never>> {
    const { scheduler } = this.#sim;
    return new Promise((resolve, reject) => {
      const answer = (settle: () => void) =>
        scheduler.add({
          name: "answer",
          owner: this.number,
          about,
          execute: () => {
            settle();
            return "answered";
          },
        });
      const execute = () => {
        try {
          work();
          answer(() => resolve({}));
          return "happened";
        } catch (error) {
          answer(() => reject(error));
          return "failed";
        }
      };
      scheduler.add({ name, owner: this.number, about, execute, executeAfterDeath: () => void execute() });
    });
  }

  /** Kills the process. Half of its requests on the way still arrive. */
  kill(): void {
    const { scheduler, rng } = this.#sim;
    this.isAlive = false;
    for (const pending of scheduler.removeOwner(this.number)) if (rng.chance(0.5)) pending.executeAfterDeath?.();
  }
}

function idOf(input: unknown): string {
  return (input as { readonly id: string }).id;
}
