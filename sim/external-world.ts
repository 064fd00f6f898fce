import type { EffectKey, RunId, StepId } from "../src/core/values/ids.ts";
import type { Counters } from "./counters.ts";
import type { Rng } from "./rng.ts";
import type { AnswerOutage } from "./seed-config.ts";
import type { VirtualScheduler } from "./virtual-scheduler.ts";

/** A request that has left a worker. It may land once, at its own time, even after its sender died. */
export interface ToolRequest {
  readonly tool: string;
  readonly run: RunId;
  readonly step: StepId;
  readonly attempt: number;
  /** The idempotency key, by which the world recognises a repeated request. */
  readonly key: EffectKey;
  /** The effect in the terms of the scenario, independent of the keys of the engine. */
  readonly effectName: string;
  /** The key of the act that this request undoes; null: it undoes none. */
  readonly undoes: EffectKey | null;
  readonly sender: number;
  /** The epoch of the run when the request was sent. */
  readonly epoch: number;
  /** How long the world recognises the key; null: it does not. */
  readonly knownForMs: number | null;
  state: "pending" | "landed" | "dropped";
}

/** How often the act with one key was done and undone. */
export interface ExternalEffect {
  readonly effectName: string;
  times: number;
  /** The time of the first effect. */
  at: number;
  undone: number;
}

/** The world outside the engine. It counts the real effects and does not read journals. */
export class ExternalWorld {
  readonly #scheduler: VirtualScheduler;
  readonly #rng: Rng;
  readonly #counts: Counters;
  readonly #violate: (law: string) => void;
  #outage: AnswerOutage | null;
  readonly #effects = new Map<EffectKey, ExternalEffect>();
  readonly #undos = new Map<EffectKey, ExternalEffect>();
  readonly #requests = new Map<string, ToolRequest>();
  readonly #pending = new Set<ToolRequest>();
  /** By effect name: how often the effect occurred and how often it was allowed. */
  readonly #effectCounts = new Map<string, { times: number; allowed: number }>();
  readonly #notices = new Map<string, string>();

  constructor(
    scheduler: VirtualScheduler,
    rng: Rng,
    outage: AnswerOutage | null,
    counts: Counters,
    violate: (law: string) => void,
  ) {
    this.#outage = outage;
    this.#scheduler = scheduler;
    this.#rng = rng;
    this.#counts = counts;
    this.#violate = violate;
  }

  /** True during an outage: requests arrive, but answers do not. */
  isSilent(): boolean {
    return this.#outage !== null && this.#scheduler.elapsedMs % this.#outage.everyMs < this.#outage.lastsMs;
  }

  /** Ends all outages. */
  endOutages(): void {
    this.#outage = null;
  }

  /** Returns every request that ever left a worker. */
  requests(): Iterable<ToolRequest> {
    return this.#requests.values();
  }

  /** Sends a request that lands at `landsAt`; null: it is lost. */
  send(details: Omit<ToolRequest, "state">, landsAt: number | null): ToolRequest {
    const request: ToolRequest = { ...details, state: landsAt === null ? "dropped" : "pending" };
    this.#counts.acts += 1;
    this.#requests.set(requestName(details.run, details.step, details.attempt), request);
    if (landsAt !== null) {
      this.#pending.add(request);
      this.#scheduler.landAt(landsAt, () => this.#land(request));
    }
    return request;
  }

  /** Cancels a request that has not landed. */
  drop(request: ToolRequest): void {
    if (request.state !== "pending") return;
    request.state = "dropped";
    this.#pending.delete(request);
  }

  /** Loses half of the requests of a dead worker; the others still arrive. */
  dropRequestsOf(sender: number): void {
    for (const request of this.#pending) {
      if (request.sender === sender && this.#rng.chance(0.5)) this.drop(request);
    }
  }

  #land(request: ToolRequest): string {
    if (request.state !== "pending") return "dropped";
    request.state = "landed";
    this.#pending.delete(request);
    const { key, undoes, effectName, knownForMs } = request;
    const now = this.#scheduler.now();
    const done = undoes === null ? this.#effects : this.#undos;
    const effect = done.get(key);
    if (effect === undefined) {
      done.set(key, { effectName, times: 1, at: now, undone: 0 });
    } else if (knownForMs !== null && now < effect.at + knownForMs) {
      this.#counts.deduplicated += 1;
      return "known";
    } else {
      effect.times += 1;
      this.#violate(
        `I1: ${request.tool} was done twice under one key: ${effectName} (${request.run} ${request.step}.${request.attempt})`,
      );
    }
    this.#counts.effects += 1;
    if (undoes === null) this.#countEffect(effectName);
    else this.#undo(undoes, request);
    return "landed";
  }

  #countEffect(effectName: string): void {
    const counts = this.#countsOf(effectName);
    counts.times += 1;
    if (counts.times > counts.allowed)
      this.#violate(`I1: ${effectName} occurred ${counts.times} times, allowed were ${counts.allowed}`);
  }

  #undo(key: EffectKey, { tool, run, step }: ToolRequest): void {
    const effect = this.#effects.get(key);
    if (effect === undefined) return;
    effect.undone += 1;
    if (effect.undone > effect.times) this.#violate(`I1: ${tool} was undone twice (${run} ${step})`);
  }

  #countsOf(effectName: string): { times: number; allowed: number } {
    let known = this.#effectCounts.get(effectName);
    if (known === undefined) {
      known = { times: 0, allowed: 1 };
      this.#effectCounts.set(effectName, known);
    }
    return known;
  }

  /** Allows the effect once more, because a person approved the repetition. */
  allowAgain(effectName: string): void {
    this.#countsOf(effectName).allowed += 1;
  }

  findRequest(run: RunId, step: StepId, attempt: number): ToolRequest | undefined {
    return this.#requests.get(requestName(run, step, attempt));
  }

  findEffect(key: EffectKey): ExternalEffect | undefined {
    return this.#effects.get(key);
  }

  findUndo(key: EffectKey): ExternalEffect | undefined {
    return this.#undos.get(key);
  }

  /** True if the act was done more often than undone. */
  isInEffect(key: EffectKey): boolean {
    const effect = this.#effects.get(key);
    return effect !== undefined && effect.times > effect.undone;
  }

  /** True if a request with this key may still land. */
  mayStillLand(key: EffectKey): boolean {
    for (const request of this.#pending) if (request.key === key) return true;
    return false;
  }

  /** Receives a notice. The same id must always have the same content. */
  receiveNotice(id: string, message: string): void {
    const known = this.#notices.get(id);
    if (known !== undefined) this.#counts.noticesAgain += 1;
    else this.#counts.notices += 1;
    if (known !== undefined && known !== message) this.#violate(`I14: notice ${id} was delivered with two contents`);
    this.#notices.set(id, message);
  }

  hasNotice(id: string): boolean {
    return this.#notices.has(id);
  }
}

function requestName(run: RunId, step: StepId, attempt: number): string {
  return `${run} ${step} ${attempt}`;
}
