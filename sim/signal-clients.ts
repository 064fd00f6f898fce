import { FaultError } from "../src/core/values/fault.ts";
import type { PrincipalInput } from "../src/engine/api/engine-api.ts";
import { Rng } from "./rng.ts";
import type { SimContext } from "./sim-context.ts";
import type { WorkerPool } from "./worker-pool.ts";

const MAX_TRIES = 8;

/** Clients that send signals, wait for them and set schedules. Only in some seeds, from a separate random source. */
export class SignalClients {
  readonly #sim: SimContext;
  readonly #pool: WorkerPool;
  readonly #rng: Rng;
  /** The numbers of the signals whose sender was answered. */
  readonly #answeredSignals = new Set<number>();
  readonly #schedules: { readonly name: string; readonly principal: PrincipalInput }[] = [];
  #busy = 0;

  constructor(sim: SimContext, pool: WorkerPool) {
    this.#sim = sim;
    this.#pool = pool;
    this.#rng = new Rng(sim.seed ^ 7717);
    if (!this.#rng.chance(0.2)) return;
    const { tenants } = sim.config;
    const principal = (): PrincipalInput => ({ id: "caller", kind: "service", tenant: this.#rng.pick(tenants).name });
    for (let signal = 1; signal <= this.#rng.between(2, 10); signal += 1) this.#planSignal(signal, principal());
    for (let setSchedule = 0; setSchedule < this.#rng.between(0, 2); setSchedule += 1)
      this.#schedules.push({ name: `o${setSchedule}`, principal: principal() });
    for (const setSchedule of this.#schedules) this.#setSchedule(setSchedule);
  }

  /** True if no action is planned. */
  get done(): boolean {
    return this.#busy === 0;
  }

  get answeredSignals(): ReadonlySet<number> {
    return this.#answeredSignals;
  }

  /** Removes all schedules, which would otherwise fire for ever. */
  beginSettling(): void {
    for (const { name, principal } of this.#schedules)
      this.#plan(
        "remove",
        1,
        (tries) => this.#pool.ask("remove", (engine) => engine.schedules.remove(name, { principal })) ?? tries,
      );
  }

  /** Plans one waiting run and one signal, in either order; several of both share a key. */
  #planSignal(signal: number, principal: PrincipalInput): void {
    const key = `k${this.#rng.below(2)}`;
    const ms = this.#rng.between(1000, 90_000);
    const plan = { steps: [{ step_id: "w", kind: "wait", payload: { signal: key, ms } }] };
    const { spanMs } = this.#sim.config;
    this.#plan(
      "wait",
      this.#rng.below(spanMs),
      (tries) =>
        this.#pool.ask("submit", (engine) => engine.submit(plan, { principal, requestKey: `wait ${signal}` })) ?? tries,
    );
    this.#plan(
      "signal",
      this.#rng.below(spanMs),
      (tries) =>
        this.#pool
          .ask("signal", (engine) => engine.signal(key, signal, { principal, id: `${signal}` }))
          ?.then(() => void this.#answeredSignals.add(signal)) ?? tries,
    );
  }

  #setSchedule({ name, principal }: { readonly name: string; readonly principal: PrincipalInput }): void {
    const plan = { steps: [{ step_id: "w", kind: "wait", payload: { ms: 1 } }] };
    const options = { principal, cron: "* * * * *", catchUp: this.#rng.pick(["all", "latest", "none"] as const) };
    this.#plan(
      "order",
      this.#rng.below(10_000),
      (tries) => this.#pool.ask("order", (engine) => engine.schedules.set(name, plan, options)) ?? tries,
    );
  }

  /** Repeats a request until it is answered, at most MAX_TRIES times. */
  #plan(name: string, inMs: number, ask: (tries: null) => Promise<unknown> | null, tries = 0): void {
    const { scheduler } = this.#sim;
    this.#busy += 1;
    const execute = (): string => {
      this.#busy -= 1;
      const again = () => {
        if (tries < MAX_TRIES || name === "remove") this.#plan(name, 5000, ask, tries + 1);
      };
      const sent = ask(null);
      if (sent === null) again();
      else void sent.catch((error: unknown) => this.#handleError(name, error, again));
      return sent === null ? "no process" : "sent";
    };
    scheduler.addAt(scheduler.now() + inMs, { name, owner: 0, about: "", execute });
  }

  #handleError(name: string, error: unknown, again: () => void): void {
    const code = error instanceof FaultError ? error.fault.code : null;
    if (code === "SCHEDULE_NOT_FOUND") return;
    if (code?.startsWith("STORE_") || code === "ENGINE_CLOSED") again();
    else this.#sim.violate(`${name} failed with an unexpected error: ${String(error)}`);
  }
}
