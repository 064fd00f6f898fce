import type { Run } from "../../src/core/run/run.ts";
import { isHostAtWork, type Step } from "../../src/core/run/step.ts";
import { FaultError } from "../../src/core/values/fault.ts";
import type { RunId, StepId } from "../../src/core/values/ids.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { later, type SessionContext, simPerson } from "./session-context.ts";

const PERSON_MS = 4000;

/** A person who approves what is held, and settles doubts by looking at the world once no host can change it any more. */
export class SessionPeople {
  readonly #sim: SessionContext;
  readonly #engine: () => Engine | null;

  constructor(sim: SessionContext, engine: () => Engine | null) {
    this.#sim = sim;
    this.#engine = engine;
    this.#decideRegularly();
  }

  #decideRegularly(): void {
    later(this.#sim, PERSON_MS, "person", () => {
      void this.#decide().finally(() => this.#decideRegularly());
    });
  }

  async #decide(): Promise<void> {
    for (const run of this.#sim.observer.runs) {
      for (const step of run.steps) {
        const engine = this.#engine();
        if (engine === null) return;
        try {
          if (step.standing.state === "waiting_approval") await this.#approve(engine, run, step, step.standing.gate_id);
          else if (step.standing.state === "in_doubt") await this.#resolve(engine, run, step);
        } catch (error) {
          if (!(error instanceof FaultError)) throw error; // Another decision, or the end of the process, came first.
        }
      }
    }
  }

  /** Names the earlier act that a call after a branch repeats: the one for the same goal, once that is settled. */
  async #approve(engine: Engine, run: Run, step: Step, gate_id: string): Promise<void> {
    const { earlier = [] } = run.gates.get(gate_id) ?? {};
    const same = earlier
      .map(({ step_id, run_id = run.id }) => ({ run_id, act: this.#sim.observer.find(run_id, step_id) }))
      .filter(({ act }) => act !== undefined && act !== step && goalOf(act) === goalOf(step));
    if (same.some(({ act }) => act?.act?.state === "started" || act?.act?.state === "in_doubt")) return;
    const done = same.find(({ act }) => act?.act?.state === "committed");
    const how = done?.act === undefined ? {} : { sameAs: actName(run.id, done.run_id, done.act.spec.step_id) };
    await soon(this.#sim, engine.approve(gate_id, { principal: simPerson, ...how }));
    if (done?.act !== undefined && this.#sim.rng.chance(0.5))
      await this.#nameAgain(engine, run.id, gate_id, { run: done.run_id, step: done.act.spec.step_id });
  }

  /** Names the same act for the other held calls that show it: it answers one call. */
  async #nameAgain(
    engine: Engine,
    id: RunId,
    decided: string,
    act: { readonly run: RunId; readonly step: StepId },
  ): Promise<void> {
    const { observer, counts } = this.#sim;
    if (observer.runs.find((run) => run.id === id)?.gates.get(decided)?.status === "open") return; // Not recorded.
    for (const run of observer.runs) {
      for (const [gate_id, { status, earlier = [] }] of run.gates) {
        const shows = earlier.some(({ step_id, run_id = run.id }) => run_id === act.run && step_id === act.step);
        if (status !== "open" || !shows) continue;
        counts.namedTwice += 1;
        const sameAs = actName(run.id, act.run, act.step);
        await soon(
          this.#sim,
          engine.approve(gate_id, { principal: simPerson, sameAs }).catch(() => {}),
        );
      }
    }
  }

  async #resolve(engine: Engine, run: Run, step: Step): Promise<void> {
    const { scheduler, effects, rng } = this.#sim;
    const { spec, external } = step;
    const isSettled = scheduler.now() > (external?.until ?? 0) + 1000 && !isHostAtWork(step);
    if (!isSettled || !rng.chance(0.5)) return;
    const of = goalOf(step);
    const happened = { as: "happened", output: { of } } as const;
    const as = (effects.get(of) ?? 0) > 0 ? happened : ({ as: "absent" } as const);
    const attempt = step.act?.attempt ?? 1;
    await soon(this.#sim, engine.resolve(run.id, spec.step_id, { principal: simPerson, attempt, ...as }));
  }
}

/** The name of an act for an approver of a call of this run. */
function actName(here: RunId, run: RunId, step: StepId): string {
  return run === here ? step : `${run}/${step}`;
}

/** The effect that a call is about. */
function goalOf({ spec }: Step): string {
  return String((spec.payload as { readonly of?: string }).of);
}

/** The process that was asked may die, and then never answers. */
function soon(sim: SessionContext, work: Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    work.then(resolve, reject);
    later(sim, 10_000, "no answer", () => resolve(null));
  });
}
