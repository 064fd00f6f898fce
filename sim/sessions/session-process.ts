import type { Store } from "../../src/core/store/store.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import type { VirtualScheduler } from "../virtual-scheduler.ts";
import type { SessionContext } from "./session-context.ts";

const anything = {} as const;

/** A process with one engine. A killed process hears nothing any more. */
export class SessionProcess {
  readonly number: number;
  isAlive = true;
  engine: Engine | null = null;
  readonly #sim: SessionContext;

  constructor(sim: SessionContext, number: number) {
    this.#sim = sim;
    this.number = number;
    this.#start().catch((error: unknown) => sim.violate(`an engine does not start: ${String(error)}`));
  }

  async #start(): Promise<void> {
    const { config, scheduler, newId } = this.#sim;
    this.engine = await createEngine({
      store: scheduledStore(this.#sim, this),
      tools: this.#tools(),
      tenants: { acme: { mode: config.isGated ? "human_gated" : "auto_exec", trust: ["act"] } },
      ...(config.sends !== null && {
        budgets: [{ unit: "calls", limit: config.sends, per: "session", tool: "send" } as const],
      }),
      limits: { segmentSteps: config.segmentSteps, takeovers: 1_000_000 },
      stopwatch: () => scheduler.now(),
      timers: { after: (ms, work) => (this.isAlive ? scheduler.after(ms, work, this.number) : () => {}) },
      dice: () => 0,
      newId: (prefix) => newId(prefix),
    });
  }

  #tools() {
    const reads = { input: anything, output: anything, timeoutMs: 20_000, effect: "reads" } as const;
    const acts = { ...reads, effect: "acts", settleAfter: 1000 } as const;
    return [
      defineTool({ ...acts, name: "send", run: (input) => this.#act((input as { of: string }).of) }),
      defineTool({ ...reads, name: "look", run: async (input) => ({ of: (input as { of: string }).of }) }),
      defineTool({ ...reads, name: "task", run: async () => null }),
      defineTool({ ...acts, name: "act", run: "external" }),
      defineTool({ ...reads, name: "read", run: "external" }),
    ];
  }

  /** The effect happens at a later step, if the process or its request still lives then. */
  #act(of: string): Promise<{ readonly of: string }> {
    const { scheduler, effects } = this.#sim;
    const happen = () => {
      effects.set(of, (effects.get(of) ?? 0) + 1);
      this.#countSend(of.split(".")[0] ?? "");
    };
    return new Promise((resolve) => {
      scheduler.add({
        name: "effect",
        owner: this.number,
        about: of,
        execute: () => {
          happen();
          scheduler.add({
            name: "answer",
            owner: this.number,
            about: of,
            execute: () => {
              resolve({ of });
              return "answered";
            },
          });
          return "happened";
        },
        executeAfterDeath: happen,
      });
    });
  }

  /** The calls of sub-agents are paid from the budget of the root session. */
  #countSend(session: string): void {
    const { sends, config, violate } = this.#sim;
    const count = 1 + (sends.get(session) ?? 0);
    sends.set(session, count);
    if (config.sends !== null && count > config.sends) violate(`S29: ${session} has sent ${count} of ${config.sends}`);
  }

  /** Kills the process. Half of its requests on the way still arrive. */
  kill(): void {
    const { scheduler, rng, counts } = this.#sim;
    this.isAlive = false;
    counts.killed += 1;
    for (const pending of scheduler.removeOwner(this.number)) if (rng.chance(0.5)) pending.executeAfterDeath?.();
  }
}

/** The names of the store's methods that answer at once. */
const immediate: readonly string[] = ["watch", "changes", "truncateLog", "beginMaintenance"];

/** The store that the processes of a simulation share. */
interface SharedStore {
  readonly store: Store;
  readonly scheduler: VirtualScheduler;
  readonly observer: Pick<SessionContext["observer"], "onAppended"> | null;
}

/** Returns the shared store as one process reaches it: the scheduler answers each call. */
export function scheduledStore(
  { store, scheduler, observer }: SharedStore,
  process: { readonly number: number; readonly isAlive: boolean },
): Store {
  const methods = Object.entries(store).map(([name, member]) => {
    if (name === "close") return [name, async () => {}];
    if (typeof member !== "function" || immediate.includes(name)) return [name, member];
    const call = member as (...given: readonly unknown[]) => Promise<unknown>;
    const scheduled = (...given: readonly unknown[]) =>
      new Promise((resolve, reject) => {
        if (!process.isAlive) return;
        const execute = () => {
          const done = call(...given);
          if (name === "append") void done.then((results) => observer?.onAppended(given[0] as never, results as never));
          done.then(
            (answer) => process.isAlive && resolve(answer),
            (error) => process.isAlive && reject(error),
          );
          return "answered";
        };
        const about = name;
        scheduler.add({ name, owner: process.number, about, execute, executeAfterDeath: () => void execute() });
      });
    return [name, scheduled];
  });
  return { ...(Object.fromEntries(methods) as unknown as Store), clock: scheduler };
}
