import { FaultError } from "../src/core/values/fault.ts";
import type { Tenant } from "../src/core/values/ids.ts";
import type { Engine, PrincipalInput } from "../src/engine/api/engine-api.ts";
import type { CheckpointRef } from "../src/engine/api/state-api.ts";
import { checkStateView } from "./invariants/check-state.ts";
import type { ObservedEvent } from "./journal-observer.ts";
import type { SimContext } from "./sim-context.ts";
import { readStateModel } from "./sim-state-tools.ts";
import type { WorkerPool } from "./worker-pool.ts";

/** Bounds the forks of a simulation, because a fork can be forked again. */
const MAX_FORKS = 4;

/** Users who read state, restore checkpoints and fork runs. */
export class CheckpointUsers {
  readonly #sim: SimContext;
  readonly #pool: WorkerPool;
  #forks = 0;
  #busy = 0;

  constructor(sim: SimContext, pool: WorkerPool) {
    this.#sim = sim;
    this.#pool = pool;
    if (sim.config.usesState) sim.observer.onEvent((observedEvent) => this.#observe(observedEvent));
  }

  /** True if no action is planned. */
  get done(): boolean {
    return this.#busy === 0;
  }

  #observe({ sim: { rng, counts }, before, event, after }: ObservedEvent): void {
    if (event.type === "run.accepted" && event.forked !== undefined) counts.forks += 1;
    if (event.type === "step.failed" && event.fault.code === "STATE_CONFLICT") counts.quarrels += 1;
    if (event.type === "step.failed" && event.fault.code === "STATE_AFTER_ACT") counts.actsUntold += 1;
    if (event.type !== "step.succeeded" || event.base === undefined || before.ended !== null) return;
    const principal: PrincipalInput = { id: "archivist", kind: "person", tenant: after.tenant };
    const at: CheckpointRef = { runId: after.id, stepId: event.step_id, side: rng.pick(["before", "after"]) };
    if (rng.chance(0.06))
      this.#plan("restore", (engine) =>
        engine.checkpoints.restore(at, { principal, reason: "the earlier state was correct" }),
      );
    if (rng.chance(0.03) && this.#forks < MAX_FORKS) {
      this.#forks += 1;
      this.#plan("fork", (engine) => engine.checkpoints.fork(at, { principal }));
    }
    if (rng.chance(0.1) && after.project !== null) this.#plan("view", this.#makeStateReader(principal, after.project));
  }

  #makeStateReader(principal: PrincipalInput, project: string): (engine: Engine) => Promise<void> {
    const key = `project:${project}`;
    const tenant = principal.tenant as Tenant;
    return async (engine) => {
      const sent = this.#sim.stateVersions.latest(tenant, key)?.version ?? 0;
      const { version, slice } = await engine.state({ principal, project });
      this.#sim.counts.stateViews += 1;
      checkStateView(this.#sim, tenant, key, { version, model: readStateModel(slice) }, sent);
    };
  }

  /** Sends a request to any running process after a random delay. */
  #plan(name: string, ask: (engine: Engine) => Promise<unknown>): void {
    const { scheduler, rng, config } = this.#sim;
    this.#busy += 1;
    const execute = () => {
      this.#busy -= 1;
      const sent = this.#pool.ask(name, ask);
      void sent?.catch((error: unknown) => this.#checkError(name, error));
      return sent === null ? "no process" : "sent";
    };
    scheduler.addAt(scheduler.now() + rng.between(1, config.paceMs), { name, owner: 0, about: "", execute });
  }

  #checkError(name: string, error: unknown): void {
    const code = error instanceof FaultError ? error.fault.code : null;
    const ordinary = code?.startsWith("STORE_") || code === "ENGINE_CLOSED" || code === "CHECKPOINT_NOT_FOUND";
    if (!ordinary) this.#sim.violate(`${name} failed with an unexpected error: ${String(error)}`);
  }
}
