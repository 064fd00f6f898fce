import type { Event } from "../../src/core/event/event.ts";
import { foldEvents } from "../../src/core/evolve/evolve.ts";
import { emptyRun, findStep, type Run } from "../../src/core/run/run.ts";
import { isHostAtWork, isUndoStep, type Step, stepPace } from "../../src/core/run/step.ts";
import type { AppendResult, Entry } from "../../src/core/store/store.ts";
import type { RunId, StepId } from "../../src/core/values/ids.ts";
import type { SessionContext } from "./session-context.ts";

/** Folds the journals and checks the laws of sessions after every append. */
export class SessionObserver {
  readonly #sim: () => SessionContext;
  readonly #runs = new Map<RunId, Run>();
  readonly #bodies: string[] = [];

  constructor(sim: () => SessionContext) {
    this.#sim = sim;
  }

  get runs(): readonly Run[] {
    return [...this.#runs.values()];
  }

  find(run: RunId, step: StepId): Step | undefined {
    const folded = this.#runs.get(run);
    return folded === undefined ? undefined : findStep(folded, step);
  }

  /** No event contains the secret of a token, whenever the host was told it. */
  checkSecret(secret: string): void {
    if (this.#bodies.some((body) => body.includes(secret)))
      this.#sim().violate("S1: an event contains the token of a call");
  }

  onAppended(entries: readonly Entry[], results: readonly AppendResult[]): void {
    for (const [index, { run: id, tenant, events }] of entries.entries()) {
      if (!results[index]?.landed || !id.startsWith("run_")) continue;
      for (const { body, type, at } of events) {
        const before = this.#runs.get(id) ?? emptyRun(id, tenant);
        const event = { ...(JSON.parse(body) as object), type, at } as Event;
        const after = foldEvents(before, [event]);
        this.#runs.set(id, after);
        this.#bodies.push(body);
        this.#check(event, before, after);
        this.#sim().conversations.onEvent(event, before, after);
        this.#sim().families.onEvent(event, before, after);
      }
    }
  }

  #check(event: Event, before: Run, after: Run): void {
    const { violate, counts } = this.#sim();
    if (event.type === "run.accepted") {
      const open = this.runs.filter((run) => run.open && run.session === after.session);
      if (open.length > 1) violate(`S2: session ${after.session} has ${open.length} open runs`);
      if (after.opened !== null && after.opened.segment > 1) counts.segments += 1;
      this.#checkSubAgent(after);
    }
    if ("step_id" in event) this.#checkStep(event, before, after);
    if (event.type === "run.closed") this.#checkClosed(event, before, after);
  }

  /** A call has one sub-agent, whose deadline is no later than that of its parent. */
  #checkSubAgent({ id, parent, opened, deadline_at }: Run): void {
    const { violate } = this.#sim();
    if (parent === null) return;
    const above = this.#runs.get(parent.run_id);
    if (above === undefined) {
      violate(`S28: ${id} has no parent on record`);
      return;
    }
    const late = above.deadline_at !== null && (deadline_at === null || deadline_at > above.deadline_at);
    if (late) violate(`S28: the deadline of sub-agent ${id} is later than that of its parent`);
    const same = this.runs.filter(
      (run) => run.parent?.run_id === parent.run_id && run.parent.step_id === parent.step_id,
    );
    if (same.length > 1 && opened?.segment === 1) violate(`S28: call ${parent.step_id} has ${same.length} sub-agents`);
    if (findStep(above, parent.step_id)?.delegated == null)
      violate(`S28: sub-agent ${id} is not on record in its parent`);
  }

  #checkStep(event: Extract<Event, { step_id: string }>, before: Run, after: Run): void {
    const { violate, counts } = this.#sim();
    const step = findStep(before, event.step_id);
    if (before.closed !== null && (event.type === "step.proposed" || event.type === "step.started"))
      if (step === undefined || !isUndoStep(step))
        violate(`S3: ${event.type} ${event.step_id} after the run was closed`);
    if (event.type === "step.started" && step !== undefined && isHostAtWork(step))
      violate(`S4: ${event.step_id} is begun again while its host works`);
    if (event.type === "step.failed" && event.reported_by !== undefined && event.retry_at !== null)
      violate(`S4: the engine tries ${event.step_id} again, which its host does`);
    if (event.type !== "step.doubted") return;
    counts.doubts += 1;
    const isOfHost = step !== undefined && isHostAtWork(step) && event.reported_by === undefined;
    if (isOfHost && event.at < Number(step.external?.until))
      violate(`S5: the work of a host is in doubt ${Number(step.external?.until) - event.at} ms early`);
    if (findStep(after, event.step_id)?.standing.state !== "in_doubt") violate("S5: a doubted step is not in doubt");
  }

  /** A close leaves no call that waits, and one because the run is full ends no call. */
  #checkClosed(event: Extract<Event, { type: "run.closed" }>, before: Run, after: Run): void {
    const { violate, counts } = this.#sim();
    counts.closed += 1;
    for (const { spec, standing, act } of before.steps) {
      if (event.continues && stepPace(standing) !== "done")
        violate(`S6: ${spec.step_id} is ${standing.state} when its full run is closed`);
      const left = findStep(after, spec.step_id)?.standing.state;
      if (act === null && (left === "waiting_approval" || left === "waiting"))
        violate(`S6: ${spec.step_id} is ${left} after the close`);
    }
  }

  /** Work that does not act is cancelled with the close of its run, in the same append. */
  checkSettled(): void {
    for (const run of this.runs)
      for (const step of run.steps)
        if (run.closed !== null && isHostAtWork(step) && step.act === null)
          this.#sim().violate(`S7: ${step.spec.step_id} is left to its host after the close of its run`);
  }
}
