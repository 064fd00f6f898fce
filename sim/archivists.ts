import { FaultError } from "../src/core/fault.ts";
import type { Tenant } from "../src/core/id.ts";
import type { Engine, PrincipalInput } from "../src/engine/api.ts";
import type { CheckpointAt } from "../src/engine/desk/state-api.ts";
import type { Company } from "./company.ts";
import { booksOf } from "./desk.ts";
import { judgeView } from "./laws/state.ts";
import type { Fact } from "./record.ts";
import type { Scene } from "./scene.ts";

/** So many forks in all: a fork is a run like any other, and can be forked. */
const MOST_FORKS = 4;

/** Those who look at state, go back to what it was, and go on from there with another run. */
export class Archivists {
  readonly #scene: Scene;
  readonly #company: Company;
  #forks = 0;
  #busy = 0;

  constructor(scene: Scene, company: Company) {
    this.#scene = scene;
    this.#company = company;
    if (scene.swarm.desk) scene.record.witness((fact) => this.#notice(fact));
  }

  /** Nobody has anything in mind. */
  get done(): boolean {
    return this.#busy === 0;
  }

  #notice({ scene: { rng, counts }, before, event, after }: Fact): void {
    if (event.type === "run.accepted" && event.forked !== undefined) counts.forks += 1;
    if (event.type === "step.failed" && event.fault.code === "STATE_CONFLICT") counts.quarrels += 1;
    if (event.type === "step.failed" && event.fault.code === "STATE_AFTER_ACT") counts.actsUntold += 1;
    if (event.type !== "step.succeeded" || event.base === undefined || before.ended !== null) return;
    const principal: PrincipalInput = { id: "archivist", kind: "person", tenant: after.tenant };
    const at: CheckpointAt = { runId: after.id, stepId: event.step_id, side: rng.pick(["before", "after"]) };
    if (rng.chance(0.06))
      this.#plan("restore", (engine) => engine.checkpoints.restore(at, { principal, reason: "better before" }));
    if (rng.chance(0.03) && this.#forks < MOST_FORKS) {
      this.#forks += 1;
      this.#plan("fork", (engine) => engine.checkpoints.fork(at, { principal }));
    }
    if (rng.chance(0.1) && after.project !== null) this.#plan("view", this.#looking(principal, after.project));
  }

  #looking(principal: PrincipalInput, project: string): (engine: Engine) => Promise<void> {
    const key = `project:${project}`;
    const tenant = principal.tenant as Tenant;
    return async (engine) => {
      const asked = this.#scene.shelf.latest(tenant, key)?.version ?? 0;
      const { version, slice } = await engine.state({ principal, project });
      this.#scene.counts.stateViews += 1;
      judgeView(this.#scene, tenant, key, { version, books: booksOf(slice) }, asked);
    };
  }

  /** Someone asks for it after a while, of whoever is there. */
  #plan(name: string, ask: (engine: Engine) => Promise<unknown>): void {
    const { agenda, rng, swarm } = this.#scene;
    this.#busy += 1;
    const happen = () => {
      this.#busy -= 1;
      const asked = this.#company.ask(name, ask);
      void asked?.catch((error: unknown) => this.#told(name, error));
      return asked === null ? "nobody there" : "asked";
    };
    agenda.addAt(agenda.now() + rng.between(1, swarm.paceMs), { name, owner: 0, about: "", happen });
  }

  #told(name: string, error: unknown): void {
    const code = error instanceof FaultError ? error.fault.code : null;
    const ordinary = code?.startsWith("STORE_") || code === "ENGINE_CLOSED" || code === "CHECKPOINT_NOT_FOUND";
    if (!ordinary) this.#scene.violate(`someone who asked for ${name} was told ${String(error)}`);
  }
}
