import { FaultError } from "../src/core/fault.ts";
import type { PrincipalInput } from "../src/engine/api.ts";
import type { Company } from "./company.ts";
import { Rng } from "./rng.ts";
import type { Scene } from "./scene.ts";

const MOST_TRIES = 8;

/** Those who send signals, wait for them and leave standing orders. In some seeds only, by another chance than the rest has. */
export class Callers {
  readonly #scene: Scene;
  readonly #company: Company;
  readonly #rng: Rng;
  /** Signals that somebody was told are kept or delivered; each has a number of its own. */
  readonly #heard = new Set<number>();
  readonly #orders: { readonly name: string; readonly principal: PrincipalInput }[] = [];
  #busy = 0;

  constructor(scene: Scene, company: Company) {
    this.#scene = scene;
    this.#company = company;
    this.#rng = new Rng(scene.seed ^ 7717);
    if (!this.#rng.chance(0.2)) return;
    const { tenants } = scene.swarm;
    const principal = (): PrincipalInput => ({ id: "caller", kind: "service", tenant: this.#rng.pick(tenants).name });
    for (let signal = 1; signal <= this.#rng.between(2, 10); signal += 1) this.#calls(signal, principal());
    for (let order = 0; order < this.#rng.between(0, 2); order += 1)
      this.#orders.push({ name: `o${order}`, principal: principal() });
    for (const order of this.#orders) this.#order(order);
  }

  /** Nobody has anything in mind. */
  get done(): boolean {
    return this.#busy === 0;
  }

  get heard(): ReadonlySet<number> {
    return this.#heard;
  }

  /** Standing orders would go on for ever. */
  calm(): void {
    for (const { name, principal } of this.#orders)
      this.#later(
        "remove",
        1,
        (tries) => this.#company.ask("remove", (engine) => engine.schedules.remove(name, { principal })) ?? tries,
      );
  }

  /** One waits, one sends, in either order; each key has several of both. */
  #calls(signal: number, principal: PrincipalInput): void {
    const key = `k${this.#rng.below(2)}`;
    const ms = this.#rng.between(1000, 90_000);
    const plan = { steps: [{ step_id: "w", kind: "wait", payload: { signal: key, ms } }] };
    const { spanMs } = this.#scene.swarm;
    this.#later(
      "wait",
      this.#rng.below(spanMs),
      (tries) =>
        this.#company.ask("submit", (engine) => engine.submit(plan, { principal, requestKey: `wait ${signal}` })) ??
        tries,
    );
    this.#later(
      "signal",
      this.#rng.below(spanMs),
      (tries) =>
        this.#company
          .ask("signal", (engine) => engine.signal(key, signal, { principal, id: `${signal}` }))
          ?.then(() => void this.#heard.add(signal)) ?? tries,
    );
  }

  #order({ name, principal }: { readonly name: string; readonly principal: PrincipalInput }): void {
    const plan = { steps: [{ step_id: "w", kind: "wait", payload: { ms: 1 } }] };
    const options = { principal, cron: "* * * * *", catchUp: this.#rng.pick(["all", "latest", "none"] as const) };
    this.#later(
      "order",
      this.#rng.below(10_000),
      (tries) => this.#company.ask("order", (engine) => engine.schedules.set(name, plan, options)) ?? tries,
    );
  }

  /** Asks until someone answers, or for long enough. */
  #later(name: string, inMs: number, ask: (tries: null) => Promise<unknown> | null, tries = 0): void {
    const { agenda } = this.#scene;
    this.#busy += 1;
    const happen = (): string => {
      this.#busy -= 1;
      const again = () => {
        if (tries < MOST_TRIES || name === "remove") this.#later(name, 5000, ask, tries + 1);
      };
      const asked = ask(null);
      if (asked === null) again();
      else void asked.catch((error: unknown) => this.#refused(name, error, again));
      return asked === null ? "nobody there" : "asked";
    };
    agenda.addAt(agenda.now() + inMs, { name, owner: 0, about: "", happen });
  }

  #refused(name: string, error: unknown, again: () => void): void {
    const code = error instanceof FaultError ? error.fault.code : null;
    if (code === "SCHEDULE_NOT_FOUND") return;
    if (code?.startsWith("STORE_") || code === "ENGINE_CLOSED") again();
    else this.#scene.violate(`a caller who asked for ${name} was told ${String(error)}`);
  }
}
