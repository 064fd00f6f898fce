import type { Grant } from "../../core/command.ts";
import type { Fault } from "../../core/fault.ts";
import type { StepId } from "../../core/id.ts";
import { findStep, type Run } from "../../core/run.ts";
import type { Running } from "./execute.ts";
import type { Execution } from "./execution.ts";
import type { Hold } from "./hold.ts";
import { end } from "./walk.ts";
import type { Caller } from "./way.ts";

/** The handlers of a held run that are at work here: one for each attempt and preview, and an attempt can outlive the next. */
export class Handlers {
  readonly #hold: Hold;
  readonly #running = new Map<Caller, Running>();

  constructor(hold: Hold) {
    this.#hold = hold;
  }

  get size(): number {
    return this.#running.size;
  }

  began(caller: Caller, running: Running): void {
    this.#running.set(caller, running);
  }

  /** The attempt is over for the road. */
  over(caller: Caller): void {
    if (caller.generation === 0) this.#running.delete(caller); // Nobody wants the late value of a read.
  }

  /** The handler itself has left; `late` is what it said when its attempt was over. */
  leaves(grant: Grant, late: Execution | null): void {
    if (late === null)
      this.#running.delete(grant); // It was heard; what follows, follows from the event.
    else void this.#leavesLate(grant, late);
  }

  async #leavesLate(grant: Grant, late: Execution): Promise<void> {
    const hold = this.#hold;
    if (!hold.isGone()) await hold.keep(this.#adopt(grant, late));
    this.#running.delete(grant); // Not before its value is recorded: until then the run is not let go.
    const step = findStep(this.#run, grant.step_id);
    if (step?.standing.state === "in_doubt" && !hold.isGone()) hold.attend(step);
    hold.restIfDone();
  }

  /** A value of an act that came after its timeout is adopted or kept; anything else says only when the handler was last alive. */
  async #adopt(grant: Grant, late: Execution): Promise<void> {
    const step = findStep(this.#run, grant.step_id);
    if (step === undefined || grant.generation === 0) return;
    const { ending } = late;
    const heard = ending.how === "value" ? ending : ({ how: "unheard", fault: ending.fault } as const);
    await end(this.#hold.way, step, grant, { ...late, ending: heard });
  }

  abortAll(why: (step: StepId) => Fault): void {
    for (const [{ step_id }, running] of this.#running) running.abort(why(step_id));
  }

  /** While a handler that outlived its timeout runs, nothing is settled behind its back. */
  isOverdue(id: StepId): boolean {
    for (const [{ step_id }, { overdue }] of this.#running) if (overdue && step_id === id) return true;
    return false;
  }

  /** Acts in doubt that could be settled if their handler were not still running here. */
  overdueDoubts(run: Run): number {
    const doubts = new Set<StepId>();
    for (const [{ step_id }, { overdue }] of this.#running) {
      const standing = overdue ? findStep(run, step_id)?.standing : undefined;
      if (standing?.state === "in_doubt" && standing.doubt.next.do === "settle") doubts.add(step_id);
    }
    return doubts.size;
  }

  get #run(): Run {
    return this.#hold.way.mailbox.run;
  }
}
