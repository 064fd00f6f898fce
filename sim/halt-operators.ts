import { sharedTenant } from "../src/core/store/store.ts";
import { FaultError } from "../src/core/values/fault.ts";
import type { Tenant } from "../src/core/values/ids.ts";
import type { Engine, PrincipalInput } from "../src/engine/api/engine-api.ts";
import type { HaltOptions } from "../src/engine/api/halt-api.ts";
import type { ModelHalt } from "./halt-model.ts";
import type { ObservedEvent } from "./journal-observer.ts";
import { Rng } from "./rng.ts";
import type { SimContext } from "./sim-context.ts";
import type { WorkerPool } from "./worker-pool.ts";

/** Bounds the halts of a simulation, because each stops all progress. */
const MAX_HALTS = 6;

/** Operators who halt a run, a tenant or everything, and lift halts; some lack permission. Only in seeds with rules. */
export class HaltOperators {
  readonly #sim: SimContext;
  readonly #pool: WorkerPool;
  readonly #rng: Rng;
  #remaining = MAX_HALTS;
  #beginSettling = false;
  #busy = 0;

  constructor(sim: SimContext, pool: WorkerPool) {
    this.#sim = sim;
    this.#pool = pool;
    this.#rng = new Rng(sim.seed ^ 31_337);
    if (sim.rules !== null) sim.observer.onEvent((observedEvent) => this.#observe(observedEvent));
  }

  /** True if no action is planned. Lifts a halt that a suspended process set after the simulation began to settle. */
  get done(): boolean {
    if (this.#beginSettling && this.#busy === 0) for (const halt of this.#sim.haltModel.all()) this.#lift(halt);
    return this.#busy === 0;
  }

  /** Sets no more halts, and lifts those in force. */
  beginSettling(): void {
    this.#beginSettling = true;
    for (const halt of this.#sim.haltModel.all()) this.#lift(halt);
  }

  #observe({ sim: { rules }, event, after }: ObservedEvent): void {
    const rng = this.#rng;
    const moment = event.type === "run.accepted" || event.type === "step.started" || event.type === "gate.approved";
    if (this.#beginSettling || !moment || this.#remaining === 0 || rules === null || !rng.chance(rules.halts / 2))
      return;
    this.#remaining -= 1;
    const what = rng.float();
    const tenant = after.tenant;
    if (what < 0.5) this.#halt({ tenant, over: after.id });
    else if (what < 0.8) this.#halt({ tenant, over: "tenant" });
    else this.#halt({ tenant, over: "everything" });
  }

  #halt(where: HaltTarget): void {
    const rng = this.#rng;
    const actsWithoutPermission = rng.chance(0.2);
    const principal = actsWithoutPermission ? forbiddenPrincipal(rng, where, "set") : allowedPrincipal(rng, where);
    const options = { ...haltOptions(where, principal), reason: "a simulated incident" };
    this.#plan("halt", rng.chance(0.5) ? 1 : rng.below(3000), async (engine) => {
      await engine.halts.set(options);
      if (actsWithoutPermission)
        this.#sim.violate(`I22: ${principal.kind} ${principal.id} halted ${where.over} without permission`);
      this.#checkConfirmed(where);
    });
  }

  /** Checks that a confirmed halt is in force, unless it was lifted since. */
  #checkConfirmed(where: HaltTarget): void {
    const { haltModel, counts } = this.#sim;
    const halt = haltModel.find(haltJournalTenant(where), where.over);
    counts.haltsTold += 1;
    if (halt !== undefined) this.#lift({ ...halt, tenant: where.tenant });
    else if (!haltModel.wasLifted(haltJournalTenant(where), where.over))
      this.#sim.violate(`I22: the halt of ${where.over} was confirmed, but is not in force`);
  }

  #lift(where: HaltTarget | ModelHalt): void {
    const rng = this.#rng;
    const tenant = where.tenant === sharedTenant ? (this.#sim.config.tenants[0]?.name as Tenant) : where.tenant;
    const there = { tenant, over: where.over };
    const actsWithoutPermission = !this.#beginSettling && rng.chance(0.1);
    const principal = actsWithoutPermission
      ? forbiddenPrincipal(rng, there, "lift")
      : allowedPrincipal(rng, there, "person");
    this.#plan("lift", this.#beginSettling ? rng.below(1000) : rng.below(this.#sim.config.paceMs), async (engine) => {
      const halt = this.#sim.haltModel.find(haltJournalTenant(there), there.over);
      if (halt === undefined) return;
      if (actsWithoutPermission) this.#lift(there);
      await engine.halts.lift(haltOptions(there, principal));
      if (actsWithoutPermission)
        this.#sim.violate(`I22: ${principal.kind} ${principal.id} lifted ${there.over} without permission`);
      const now = this.#sim.haltModel.find(haltJournalTenant(there), there.over);
      if (now !== undefined && now.since === halt.since)
        this.#sim.violate(`I22: the lift of ${there.over} was confirmed, but its halt is in force`);
    });
  }

  #plan(name: string, inMs: number, ask: (engine: Engine) => Promise<void>): void {
    const { scheduler } = this.#sim;
    this.#busy += 1;
    const execute = () => {
      this.#busy -= 1;
      const again = () => this.#plan(name, this.#rng.between(1, 2000), ask);
      const asked = this.#pool.ask(name, ask);
      if (asked === null) again();
      else void asked.catch((error: unknown) => this.#handleError(name, error, again));
      return asked === null ? "no process" : "sent";
    };
    scheduler.addAt(scheduler.now() + inMs, { name, owner: 0, about: "", execute });
  }

  #handleError(name: string, error: unknown, again: () => void): void {
    const code = error instanceof FaultError ? error.fault.code : null;
    if (code?.startsWith("STORE_") || code === "ENGINE_CLOSED") {
      if (!(this.#beginSettling && name === "halt")) again();
    } else if (code !== "AUTH_FORBIDDEN" && code !== "NOT_POSSIBLE") {
      this.#sim.violate(`${name} failed with an unexpected error: ${String(error)}`);
    }
  }
}

type HaltTarget = Pick<ModelHalt, "tenant" | "over">;

function haltJournalTenant({ tenant, over }: HaltTarget): Tenant {
  return over === "everything" ? sharedTenant : tenant;
}

function haltOptions({ over }: HaltTarget, principal: PrincipalInput): HaltOptions {
  if (over === "everything") return { principal, everything: true };
  return over === "tenant" ? { principal } : { principal, runId: over };
}

function allowedPrincipal(rng: Rng, { tenant, over }: HaltTarget, kind: "person" | null = null): PrincipalInput {
  const roles = over === "everything" ? { roles: ["operator"] } : {};
  return { id: "wanda", kind: kind ?? rng.pick(["person", "service"] as const), tenant, ...roles };
}

/** Agents may not set halts, agents and services may not lift them, and only operators may halt everything. */
function forbiddenPrincipal(rng: Rng, { tenant, over }: HaltTarget, does: "set" | "lift"): PrincipalInput {
  if (over === "everything" && rng.chance(0.5)) return { id: "ana", kind: "person", tenant };
  const kind = does === "set" ? "agent" : rng.pick(["agent", "service"] as const);
  return { id: "robot", kind, tenant, roles: ["operator"] };
}
