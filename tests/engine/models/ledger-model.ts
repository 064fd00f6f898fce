import assert from "node:assert/strict";

/**
 * A model of the ledger (design, sections 5 and 6): one key, and the steps that act under it. Each step knows the outcome
 * of its own act. The ledger row is a copy of the act of its holder, so a lost row leaves the act unchanged.
 */
export type ActFate = "started" | "committed" | "in_doubt" | "not_done" | "absent" | "given_up" | Undoing;
type Undoing = "compensating" | "compensated" | "compensation_failed";

/** The declarations of the tool. */
export interface ActTerms {
  readonly onDuplicate: "hold" | "reuse" | "refuse";
  readonly confirm: "none" | "warn" | "gate" | "strict";
  readonly errorsMean: "unknown" | "not_done";
  readonly keyedBy: "identity" | "template";
  readonly idempotentForMs: number | null;
  readonly safeIfAbsent: boolean;
}

export const TIMEOUT_MS = 30_000;
export const SETTLE_AFTER_MS = 60_000;
/** How late a worker that counts as dead may still make its call. */
const CALL_WITHIN_MS = 10_000;
const SECOND = 1000;
const MINUTE = 60_000;

export interface ModelRun {
  readonly id: string;
  readonly run: string;
  readonly lineage: string;
  readonly input: number;
  state: string;
  act: ModelAct | null;
  /** `shown` is the act in the ledger when the step was held; `again` is the act that its approval allows to repeat. */
  shown: Shown | null;
  again: Shown | null;
  waits: { readonly since: number; readonly until: number } | null;
  output: number | null;
}

export interface ModelAct {
  readonly generation: number;
  readonly sentAt: number; // first, under this generation
  readonly startedAt: number;
  readonly isResend: boolean; // an earlier call is still in doubt
  readonly fate: ActFate;
  readonly output: number | null;
  readonly usable: boolean;
  readonly alive: boolean; // the handler may still run
  readonly absentOnce: boolean;
  readonly quietAt: number;
}

interface Shown {
  readonly holder: string;
  readonly generation: number;
  readonly idle: boolean; // the act had not happened
}

/** A version of the row. */
export interface LedgerView {
  readonly version: number;
  readonly holder: ModelRun;
  readonly act: ModelAct;
}

export type Sight = "seen" | "seen, misfit" | "seen, differs" | "absent" | "unclear";

export class LedgerModel {
  now = 0;
  readonly views: LedgerView[] = [];
  readonly askers = new Map<string, ModelRun>();
  readonly cancelled = new Set<string>();
  receiptLost = false;
  readonly #terms: ActTerms;
  /** Generations whose call may have reached the world. */
  readonly #loose = new Map<number, string>();

  constructor(terms: ActTerms) {
    this.#terms = terms;
  }

  add(id: string, run: string, lineage: string, input: number): void {
    const fresh = { act: null, shown: null, again: null, waits: null, output: null };
    this.askers.set(id, { id, run, lineage, input, state: "ready", ...fresh });
  }

  /** The row as it is. */
  get view(): LedgerView | null {
    return this.views.at(-1) ?? null;
  }

  start(asker: ModelRun, read: LedgerView | null, sight: Sight): void {
    const isDue = asker.state === "waiting" && asker.waits !== null && this.now >= asker.waits.until;
    if (asker.state !== "ready" && asker.state !== "failed_retryable" && !isDue) return;
    const relies = ["execute", "again", "reuse"].includes(this.answer(asker, read, sight));
    const seen = relies ? this.view : read; // If the row has changed since it was read, the append fails and the decision is repeated.
    const answer = this.answer(asker, seen, sight);
    const isResend = asker.act?.fate === "in_doubt"; // The act stays in doubt until it is settled.
    if (answer === "wait") this.#wait(asker);
    else if (isResend && answer !== "execute") asker.state = "in_doubt";
    else if (answer === "refuse") asker.state = "rejected";
    else if (answer === "reuse") Object.assign(asker, { state: "succeeded", output: seen?.act.output });
    else if (answer === "hold") this.#hold(asker, seen as LedgerView);
    else this.#execute(asker, (seen?.act.generation ?? 1) + (answer === "again" ? 1 : 0), isResend);
  }

  /** The table of the design, section 5. */
  answer(
    asker: ModelRun,
    seen: LedgerView | null,
    sight: Sight,
  ): "execute" | "again" | "reuse" | "wait" | "hold" | "refuse" {
    if (seen === null) return "execute";
    const { act, holder } = seen;
    const isOwn = holder.id === asker.id;
    const isKin = holder.lineage === asker.lineage;
    const isUnderWay = act.fate === "started" || act.fate === "compensating";
    const isIdle = act.fate === "not_done" || act.fate === "absent";
    const isShown = asker.again?.holder === holder.id && asker.again.generation === act.generation;
    if (isShown && !isUnderWay && (isIdle || !asker.again?.idle)) return "again";
    switch (act.fate) {
      case "not_done":
      case "absent":
        return isOwn || act.generation === 1 ? "execute" : "hold"; // Only one step was allowed to repeat it.
      case "started":
        return "wait";
      case "in_doubt":
        if (isOwn) return this.now < this.#promisedUntil(act) ? "execute" : "refuse";
        return isKin ? "wait" : "hold";
      case "committed":
        return this.#recorded(asker, seen, isKin, sight);
      case "compensating":
        return isOwn ? "refuse" : "wait";
      default:
        return isOwn ? "refuse" : "hold";
    }
  }

  #recorded(asker: ModelRun, { act, holder }: LedgerView, isKin: boolean, sight: Sight): "reuse" | "hold" | "refuse" {
    const { onDuplicate, confirm, keyedBy } = this.#terms;
    if (!isKin && onDuplicate !== "reuse") return onDuplicate;
    if (!act.usable) return "refuse";
    if (this.receiptLost || (keyedBy === "template" && holder.input !== asker.input)) return "hold";
    if (confirm === "none" || confirm === "warn" || sight === "seen" || sight === "seen, misfit") return "reuse";
    return confirm === "gate" ? "hold" : "refuse";
  }

  #hold(asker: ModelRun, { holder, act }: LedgerView): void {
    const idle = act.fate === "not_done" || act.fate === "absent";
    const shown = { holder: holder.id, generation: act.generation, idle };
    Object.assign(asker, { state: "waiting_approval", shown, again: null });
  }

  #wait(asker: ModelRun): void {
    const since = asker.state === "waiting" ? (asker.waits?.since as number) : this.now;
    const pause = Math.min(MINUTE, Math.max(SECOND, this.now - since));
    Object.assign(asker, { state: "waiting", waits: { since, until: this.now + pause } });
  }

  #execute(asker: ModelRun, generation: number, isResend: boolean): void {
    // No second call for one generation, unless the tool is idempotent.
    assert.ok(!this.#loose.has(generation) || (isResend && this.#loose.get(generation) === asker.id), "acts twice");
    this.#loose.set(generation, asker.id);
    const first = isResend ? (asker.act as ModelAct).sentAt : this.now;
    const unknown = { output: null, usable: true, alive: false, absentOnce: false, quietAt: 0 };
    const act: ModelAct = { generation, sentAt: first, startedAt: this.now, isResend, fate: "started", ...unknown };
    Object.assign(asker, { state: "running", again: null });
    this.#write(asker, act, true);
  }

  /** Ends the last handler. The outcome of an earlier handler changes nothing. */
  end(asker: ModelRun, how: "value" | "misfit" | "not done" | "error" | "unheard", output: number): void {
    const { act, state } = asker;
    const isLate = state === "in_doubt";
    if (act === null || (state !== "running" && !isLate)) return;
    const isProof = how === "not done" || (how === "error" && this.#terms.errorsMean === "not_done");
    if (how === "value" || how === "misfit") this.#happened(asker, output, how === "value");
    else if (isLate && how !== "unheard")
      return; // It says nothing about the earlier call.
    else if (isProof && !act.isResend) this.#nothing(asker, "not_done", "failed_retryable");
    else this.#doubt(asker, this.now, how === "unheard" && !isLate);
  }

  recover(asker: ModelRun, mark: "yes" | "no" | "unknown"): void {
    const { act, state } = asker;
    if (state === "in_doubt" && act?.alive) this.#doubt(asker, this.now, false);
    else if (state !== "running") return;
    else if (mark === "no" && !act?.isResend) this.#nothing(asker, "not_done", "ready");
    else this.#doubt(asker, this.now + CALL_WITHIN_MS, false);
  }

  /** Settles without a person: by the verifier, then by the idempotency promise of the tool. */
  settle(asker: ModelRun, sight: Sight | null, output: number): void {
    const { act, state } = asker;
    if (act === null || state !== "in_doubt") return;
    if (sight?.startsWith("seen")) this.#happened(asker, output, sight !== "seen, misfit");
    else if (sight !== "absent" && this.#maySendAgain(asker, act)) asker.state = "ready";
    else if (sight === "absent" && act.absentOnce && this.now >= act.quietAt) this.#nothing(asker, "absent", "ready");
    else asker.act = { ...act, absentOnce: sight === "absent" };
  }

  /** True if a resend is due: the first at once, the next after increasing waits. */
  #maySendAgain({ run }: ModelRun, act: ModelAct): boolean {
    const waited = act.startedAt - act.sentAt;
    const at = waited === 0 ? this.now : act.startedAt + Math.min(MINUTE, Math.max(SECOND, waited));
    return at <= this.now && this.now < this.#promisedUntil(act) && !this.cancelled.has(run);
  }

  resolve(asker: ModelRun, as: "happened" | "absent" | "give_up", output: number): void {
    const { act, state } = asker;
    const isMisfit = state === "failed_final" && act?.fate === "committed" && !act.usable;
    if (as === "happened" && (isMisfit || state === "in_doubt")) this.#happened(asker, output, true);
    else if (state !== "in_doubt") return;
    else if (as === "absent") this.#nothing(asker, "absent", "ready");
    else this.#settled(asker, "given_up", "failed_final");
  }

  undo(asker: ModelRun): void {
    const isDone = asker.act?.fate === "committed";
    const isPossible =
      isDone || asker.state === "compensation_failed" || (asker.state === "in_doubt" && this.#terms.safeIfAbsent);
    if (isPossible) this.#settled(asker, "compensating", "compensating");
  }

  endUndo(asker: ModelRun, well: boolean): void {
    if (asker.state !== "compensating") return;
    const fate = well ? "compensated" : "compensation_failed";
    this.#settled(asker, fate, fate);
  }

  decideGate(asker: ModelRun, yes: boolean): void {
    if (asker.state !== "waiting_approval") return;
    Object.assign(asker, yes ? { state: "ready", again: asker.shown } : { state: "rejected" });
  }

  /** An act that waits to be sent again is in doubt as before. */
  cancel(run: string): void {
    this.cancelled.add(run);
    for (const asker of this.askers.values()) {
      const isIdle = ["ready", "waiting", "waiting_approval", "failed_retryable"].includes(asker.state);
      if (asker.run === run && isIdle) asker.state = asker.act?.fate === "in_doubt" ? "in_doubt" : "cancelled";
    }
  }

  #promisedUntil({ sentAt }: ModelAct): number {
    const { idempotentForMs } = this.#terms;
    // A call can be in flight until its timeout and the settling time have passed.
    const underWayMs = TIMEOUT_MS + SETTLE_AFTER_MS;
    return idempotentForMs === null ? Number.NEGATIVE_INFINITY : sentAt + idempotentForMs - underWayMs;
  }

  #happened(asker: ModelRun, output: number, usable: boolean): void {
    asker.output = output;
    this.#settled(asker, "committed", usable ? "succeeded" : "failed_final", { output, usable });
  }

  #nothing(asker: ModelRun, fate: "not_done" | "absent", next: "ready" | "failed_retryable"): void {
    this.#loose.delete(asker.act?.generation as number);
    const instead = next === "ready" ? "cancelled" : "failed_final";
    this.#settled(asker, fate, this.cancelled.has(asker.run) ? instead : next);
  }

  #doubt(asker: ModelRun, lastAlive: number, alive: boolean): void {
    const quietAt = lastAlive + TIMEOUT_MS + SETTLE_AFTER_MS;
    this.#settled(asker, "in_doubt", "in_doubt", { quietAt, alive, absentOnce: false });
  }

  #settled(asker: ModelRun, fate: ActFate, state: string, more: Partial<ModelAct> = {}): void {
    asker.state = state;
    this.#write(asker, { ...(asker.act as ModelAct), fate, ...more });
  }

  /** Records the act. The row changes only with the act of its holder. */
  #write(asker: ModelRun, act: ModelAct, takes = false): void {
    asker.act = act;
    if (takes || this.view?.holder.id === asker.id)
      this.views.push({ version: this.views.length + 1, holder: asker, act });
  }
}
