import type { Grant } from "../../core/decide/command.ts";
import { findStep, type Run, type Step } from "../../core/run/run.ts";
import type { Fault } from "../../core/values/fault.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { AttemptReport } from "../call/attempt-report.ts";
import type { CallContext, HandlerOwner } from "../call/call-context.ts";
import { commitReport } from "../call/commit.ts";
import { deliverNotices } from "../call/dispatch.ts";
import type { RunningHandler } from "../call/start-handler.ts";

/**
 * The running handlers of a leased run, of attempts and previews. A handler can outlive its attempt and the next one.
 */
export class RunningHandlers {
  readonly #context: CallContext;
  /** A list: few handlers run at once, and the table of a map outlives its entries until the next full collection. */
  readonly #running: { readonly owner: HandlerOwner; readonly handler: RunningHandler }[] = [];

  constructor(context: CallContext) {
    this.#context = context;
  }

  get size(): number {
    return this.#running.length;
  }

  add(owner: HandlerOwner, handler: RunningHandler): void {
    this.#running.push({ owner, handler });
  }

  /** The attempt has ended, though its handler may still run. */
  endAttempt(owner: HandlerOwner): void {
    if (owner.generation === 0) this.#delete(owner); // Only the late output of an act matters.
  }

  /** The handler has returned. `late`: its report, if the attempt had ended before. */
  remove(grant: Grant, late: AttemptReport | null): void {
    if (late === null)
      this.#delete(grant); // The attempt has its report.
    else void this.#removeLate(grant, late);
  }

  #delete(owner: HandlerOwner): void {
    const at = this.#running.findIndex((running) => running.owner === owner);
    if (at >= 0) this.#running.splice(at, 1);
  }

  async #removeLate(grant: Grant, late: AttemptReport): Promise<void> {
    const context = this.#context;
    if (!context.isReleased()) await context.require(this.#commitLate(grant, late));
    if (context.isReleased() && grant.generation > 0) context.reportReturn(grant);
    this.#delete(grant); // Not before its report is recorded: until then the run is not released.
    const step = findStep(this.#run, grant.step_id);
    if (step?.standing.state === "in_doubt" && !context.isReleased()) context.schedule(step);
    context.releaseIfAtRest();
  }

  /** Records the late output of an act. Any other late end only says when the handler was last alive. */
  async #commitLate(grant: Grant, late: AttemptReport): Promise<void> {
    const step = findStep(this.#run, grant.step_id);
    if (step === undefined || grant.generation === 0) return;
    const { ending } = late;
    const heard = ending.how === "value" ? ending : ({ how: "unheard", fault: ending.fault } as const);
    deliverNotices(this.#context, await commitReport(this.#context, step, grant, { ...late, ending: heard }, null));
  }

  abortAll(why: (step: StepId) => Fault): void {
    for (const { owner, handler } of [...this.#running]) handler.abort(why(owner.step_id));
  }

  /** Aborts the handlers that do not act. A stopped act would be in doubt. */
  abortReads(why: (step: StepId) => Fault): void {
    for (const { owner, handler } of [...this.#running]) if (owner.generation === 0) handler.abort(why(owner.step_id));
  }

  /** Stops the handlers of one step whose caller no longer waits: an act only if its tool stops safely. */
  stopCall(step: StepId, why: Fault): void {
    for (const { owner, handler } of [...this.#running]) {
      if (owner.step_id !== step) continue;
      if (owner.generation === 0) handler.abort(why);
      else handler.stopAct(why);
    }
  }

  /** True if a handler of the step still runs after its attempt: its doubt is not settled meanwhile. */
  isOverdue(id: StepId): boolean {
    return this.#running.some(({ owner, handler }) => handler.overdue && owner.step_id === id);
  }

  /** Returns the number of acts in doubt that are not settled because their handlers still run. */
  overdueDoubts(run: Run): number {
    if (!this.#running.some(({ handler }) => handler.overdue)) return 0;
    const overdue = this.#running.filter(({ handler }) => handler.overdue);
    const doubts = new Set(overdue.map(({ owner: { step_id } }) => step_id));
    return [...doubts].filter((step_id) => isSettling(findStep(run, step_id))).length;
  }

  get #run(): Run {
    return this.#context.mailbox.run;
  }
}

function isSettling(step: Step | undefined): boolean {
  return step?.standing.state === "in_doubt" && step.standing.doubt.next.do === "settle";
}
