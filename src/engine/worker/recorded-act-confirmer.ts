import { findStep } from "../../core/run/run.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { CallContext } from "../call/call-context.ts";
import { sightRecordedAct } from "../call/verify.ts";

/** Has recorded acts of a leased run confirmed, each once for all the steps that wait for it. */
export class RecordedActConfirmer {
  readonly #context: CallContext;
  readonly #asking = new Map<StepId, Promise<void>>();

  constructor(context: CallContext) {
    this.#context = context;
  }

  async confirm(acts: readonly StepId[]): Promise<void> {
    await Promise.all(acts.map((step_id) => this.#confirmOnce(step_id)));
  }

  #confirmOnce(step_id: StepId): Promise<void> {
    const asking = this.#asking.get(step_id) ?? this.#confirm(step_id).finally(() => void this.#asking.delete(step_id));
    this.#asking.set(step_id, asking);
    return asking;
  }

  async #confirm(step_id: StepId): Promise<void> {
    const { ports, mailbox } = this.#context;
    const step = findStep(mailbox.run, step_id);
    if (step === undefined) return;
    ports.failpoint("confirm.before");
    const sighting = await sightRecordedAct(ports, mailbox.run, step);
    const now = ports.clock.now();
    const reason = "a later step of the continued run relies on it";
    await mailbox.ask(() => ({ type: "verify", now, by: null, reason, seen: [{ step_id, sighting }] }));
    ports.failpoint("confirm.after");
  }
}
