import type { Event } from "../../src/core/event/event.ts";
import { findStep, type Run } from "../../src/core/run/run.ts";
import { isUndoStep, type Step } from "../../src/core/run/step.ts";
import type { RunId, StepId } from "../../src/core/values/ids.ts";
import type { SessionContext } from "./session-context.ts";

/** A step of a run. */
interface StepOfRun {
  readonly run: RunId;
  readonly step: StepId;
}

/** Checks what branches mean for the runs of sub-agents below them. */
export class FamilyObserver {
  readonly #sim: () => SessionContext;
  readonly #parents = new Map<RunId, StepOfRun>();
  /** By run, the number of the event that accepted it. */
  readonly #accepted = new Map<RunId, number>();
  /** By call that a branch has left, the number of that event. */
  readonly #left = new Map<string, number>();
  /** By act, the last call that its receipt answered. */
  readonly #answered = new Map<string, StepOfRun>();
  #events = 0;

  constructor(sim: () => SessionContext) {
    this.#sim = sim;
  }

  onEvent(event: Event, before: Run, after: Run): void {
    this.#events += 1;
    if (event.type === "run.accepted") this.#onAccepted(after);
    if (event.type === "run.branched" && event.lane === "main") this.#onBranched(event, before);
    if (event.type === "step.started") this.#onStarted(event, before);
    if (event.type === "step.succeeded" && event.reused !== undefined) this.#onAnswered(event, after);
  }

  #onAccepted({ id, parent }: Run): void {
    this.#accepted.set(id, this.#events);
    if (parent !== null) this.#parents.set(id, { run: parent.run_id, step: parent.step_id });
  }

  #onBranched(event: Extract<Event, { type: "run.branched" }>, run: Run): void {
    const from = Math.min(...event.dropped.map((step) => findStep(run, step)?.index ?? Number.POSITIVE_INFINITY));
    for (const { index, spec } of run.steps)
      if (index > from) this.#left.set(`${run.id}/${spec.step_id}`, this.#events);
  }

  /** Returns the steps from a step up to that of the topmost run. */
  #above(of: StepOfRun): readonly StepOfRun[] {
    const chain: StepOfRun[] = [];
    for (let at: StepOfRun | undefined = of; at !== undefined; at = this.#parents.get(at.run)) chain.push(at);
    return chain;
  }

  /** True if a branch has left the step, or a call above it. */
  #isLeft(of: StepOfRun): boolean {
    return this.#above(of).some(({ run, step }) => this.#left.has(`${run}/${step}`));
  }

  /** True if a branch that left the act holds acts of this run: the run branched itself, or was accepted below it later. */
  #concerns(act: StepOfRun, run: RunId): boolean {
    const runs = new Set([run, ...this.#above({ run, step: "" as StepId }).map((each) => each.run)]);
    return this.#above(act).some((each) => {
      const at = this.#left.get(`${each.run}/${each.step}`);
      return at !== undefined && runs.has(each.run) && (each.run === run || at < (this.#accepted.get(run) ?? 0));
    });
  }

  /**
   * True if a branch has left an act of the tool, as far as the run knows: it does not learn that the act of another run
   * did nothing, or answers a call of a sub-agent.
   */
  holdsFor(run: Run, step: Step): boolean {
    return this.#findLeftAct(run, step, (act, call) => act.act !== null && call?.run !== run.id) !== undefined;
  }

  /** Returns an act of the tool in a branch that was left, unless its receipt answers a call since. */
  #findLeftAct(
    { id }: Run,
    { spec }: Step,
    isHolding: (act: Step, answers: StepOfRun | undefined) => boolean,
  ): StepOfRun | undefined {
    for (const other of this.#sim().observer.runs) {
      for (const step of other.steps) {
        if (step.spec.name !== spec.name || isUndoStep(step)) continue;
        const act = { run: other.id, step: step.spec.step_id };
        if (act.run === id && act.step === spec.step_id) continue;
        const call = this.#answered.get(`${act.run}/${act.step}`);
        if (!isHolding(step, call === undefined || this.#isLeft(call) ? undefined : call)) continue;
        if (this.#concerns(act, id)) return act;
      }
    }
    return undefined;
  }

  /** An act whose tool may have acted below a call that was left starts only with an approval of its own. */
  #onStarted({ step_id }: Extract<Event, { type: "step.started" }>, run: Run): void {
    const step = findStep(run, step_id);
    if (step === undefined || isUndoStep(step) || step.spec.effect !== "acts") return;
    if (this.#isLeft({ run: run.id, step: step_id })) return;
    const left = this.#findLeftAct(run, step, (act, answers) => mayHaveActed(act) && answers === undefined);
    const isApproved = Array.from(run.gates).some(
      ([, gate]) => gate.step_id === step_id && (gate.status === "approved" || gate.status === "consumed"),
    );
    if (left !== undefined && !isApproved)
      this.#sim().violate(
        `S31: ${run.id}/${step_id} starts without approval after a branch left ${left.run}/${left.step}`,
      );
  }

  #onAnswered({ step_id, reused }: Extract<Event, { type: "step.succeeded" }>, run: Run): void {
    if (reused === undefined) return;
    const { violate, counts } = this.#sim();
    const act = `${reused.run}/${reused.step}`;
    const call = { run: run.id, step: step_id };
    const other = this.#answered.get(act);
    if (other !== undefined && !this.#isLeft(other) && !this.#isLeft(call))
      violate(`S32: ${act} answers ${run.id}/${step_id} and ${other.run}/${other.step}`);
    this.#answered.set(act, call);
    if (reused.run !== run.id) counts.sameActsElsewhere += 1;
  }
}

const didNothing: readonly string[] = ["not_done", "absent", "compensated"];

function mayHaveActed({ act }: Step): boolean {
  return act !== null && !didNothing.includes(act.state);
}
