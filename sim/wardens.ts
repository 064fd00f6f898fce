import { FaultError } from "../src/core/fault.ts";
import type { Tenant } from "../src/core/id.ts";
import { house } from "../src/core/store.ts";
import type { Engine, PrincipalInput } from "../src/engine/api.ts";
import type { HaltOptions } from "../src/engine/rules/halt-api.ts";
import type { Company } from "./company.ts";
import type { Fact } from "./record.ts";
import { Rng } from "./rng.ts";
import type { Scene } from "./scene.ts";
import type { Stop } from "./standstill.ts";

/** So often in all something is stopped; each time everyone waits. */
const MOST_HALTS = 6;

/** Those who stop a run, a tenant or everything, and let it go on; some try who may not. In scenes with rules only. */
export class Wardens {
  readonly #scene: Scene;
  readonly #company: Company;
  readonly #rng: Rng;
  #left = MOST_HALTS;
  #calm = false;
  #busy = 0;

  constructor(scene: Scene, company: Company) {
    this.#scene = scene;
    this.#company = company;
    this.#rng = new Rng(scene.seed ^ 31_337);
    if (scene.rules !== null) scene.record.witness((fact) => this.#notice(fact));
  }

  /** Nobody has anything in mind. */
  get done(): boolean {
    return this.#busy === 0;
  }

  /** From now on nothing is stopped, and whatever was goes on. */
  calm(): void {
    this.#calm = true;
    for (const stop of this.#scene.standstill.all()) this.#lift(stop);
  }

  #notice({ scene: { rules }, event, after }: Fact): void {
    const rng = this.#rng;
    const moment = event.type === "run.accepted" || event.type === "step.started" || event.type === "gate.approved";
    if (this.#calm || !moment || this.#left === 0 || rules === null || !rng.chance(rules.halts / 2)) return;
    this.#left -= 1;
    const what = rng.float();
    const tenant = after.tenant;
    if (what < 0.5) this.#stop({ tenant, over: after.id });
    else if (what < 0.8) this.#stop({ tenant, over: "tenant" });
    else this.#stop({ tenant, over: "everything" });
  }

  #stop(where: Where): void {
    const rng = this.#rng;
    const intrudes = rng.chance(0.2);
    const principal = intrudes ? stranger(rng, where, "set") : warden(rng, where);
    const options = { ...optionsFor(where, principal), reason: "something is wrong" };
    this.#plan("halt", rng.chance(0.5) ? 1 : rng.below(3000), async (engine) => {
      await engine.halts.set(options);
      if (intrudes) this.#scene.violate(`I22: ${principal.kind} ${principal.id} halted ${where.over}, and may not`);
      this.#told(where);
    });
  }

  /** Whoever was told that something is halted finds it so, unless it was lifted since. */
  #told(where: Where): void {
    const { standstill, counts } = this.#scene;
    const stop = standstill.stands(journalOf(where), where.over);
    counts.haltsTold += 1;
    if (stop !== undefined) this.#lift({ ...stop, tenant: where.tenant });
    else if (!standstill.wasLifted(journalOf(where), where.over))
      this.#scene.violate(`I22: someone was told that ${where.over} is halted, and it is not`);
  }

  #lift(where: Where | Stop): void {
    const rng = this.#rng;
    const tenant = where.tenant === house ? (this.#scene.swarm.tenants[0]?.name as Tenant) : where.tenant;
    const there = { tenant, over: where.over };
    const intrudes = !this.#calm && rng.chance(0.1);
    const principal = intrudes ? stranger(rng, there, "lift") : warden(rng, there, "person");
    this.#plan("lift", this.#calm ? rng.below(1000) : rng.below(this.#scene.swarm.paceMs), async (engine) => {
      const stop = this.#scene.standstill.stands(journalOf(there), there.over);
      if (stop === undefined) return;
      if (intrudes) this.#lift(there);
      await engine.halts.lift(optionsFor(there, principal));
      if (intrudes) this.#scene.violate(`I22: ${principal.kind} ${principal.id} lifted ${there.over}, and may not`);
      const now = this.#scene.standstill.stands(journalOf(there), there.over);
      if (now !== undefined && now.since === stop.since)
        this.#scene.violate(`I22: someone was told that ${there.over} goes on, and it is halted`);
    });
  }

  #plan(name: string, inMs: number, ask: (engine: Engine) => Promise<void>): void {
    const { agenda } = this.#scene;
    this.#busy += 1;
    const happen = () => {
      this.#busy -= 1;
      const again = () => this.#plan(name, this.#rng.between(1, 2000), ask);
      const asked = this.#company.ask(name, ask);
      if (asked === null) again();
      else void asked.catch((error: unknown) => this.#refused(name, error, again));
      return asked === null ? "nobody there" : "asked";
    };
    agenda.addAt(agenda.now() + inMs, { name, owner: 0, about: "", happen });
  }

  #refused(name: string, error: unknown, again: () => void): void {
    const code = error instanceof FaultError ? error.fault.code : null;
    if (code?.startsWith("STORE_") || code === "ENGINE_CLOSED") {
      if (!(this.#calm && name === "halt")) again();
    } else if (code !== "AUTH_FORBIDDEN" && code !== "NOT_POSSIBLE") {
      this.#scene.violate(`someone who asked for ${name} was told ${String(error)}`);
    }
  }
}

type Where = Pick<Stop, "tenant" | "over">;

function journalOf({ tenant, over }: Where): Tenant {
  return over === "everything" ? house : tenant;
}

function optionsFor({ over }: Where, principal: PrincipalInput): HaltOptions {
  if (over === "everything") return { principal, everything: true };
  return over === "tenant" ? { principal } : { principal, runId: over };
}

function warden(rng: Rng, { tenant, over }: Where, kind: "person" | null = null): PrincipalInput {
  const roles = over === "everything" ? { roles: ["operator"] } : {};
  return { id: "wanda", kind: kind ?? rng.pick(["person", "service"] as const), tenant, ...roles };
}

/** Who may not: an agent sets nothing, a service lifts nothing, and everything is for operators. */
function stranger(rng: Rng, { tenant, over }: Where, does: "set" | "lift"): PrincipalInput {
  if (over === "everything" && rng.chance(0.5)) return { id: "ana", kind: "person", tenant };
  const kind = does === "set" ? "agent" : rng.pick(["agent", "service"] as const);
  return { id: "robot", kind, tenant, roles: ["operator"] };
}
