import type { EffectKey, RunId, StepId } from "../src/core/id.ts";
import type { Agenda } from "./agenda.ts";
import type { Counts } from "./counts.ts";
import type { Rng } from "./rng.ts";
import type { Outage } from "./swarm.ts";

/** One request that has left a worker: it may land once, at its own time, whatever becomes of who sent it. */
export interface Dispatch {
  readonly tool: string;
  readonly run: RunId;
  readonly step: StepId;
  readonly attempt: number;
  /** Whom the world thinks it hears from: the same key is the same wish. */
  readonly key: EffectKey;
  /** What it would do, in the words of the scenario. No key of the engine is in it. */
  readonly fact: string;
  /** The key of the act that this undoes. */
  readonly undoes: EffectKey | null;
  readonly sender: number;
  /** Under which the run was held when it went out. */
  readonly epoch: number;
  /** How long the world recognises the key; null: not at all. */
  readonly knownForMs: number | null;
  state: "under way" | "landed" | "gone";
}

/** What became of the acts under one key. */
export interface Effect {
  readonly fact: string;
  times: number;
  /** When it was first done. */
  at: number;
  undone: number;
}

/** The outside: it counts what really happened, and knows nothing of journals. */
export class World {
  readonly #agenda: Agenda;
  readonly #rng: Rng;
  readonly #counts: Counts;
  readonly #violate: (law: string) => void;
  #outage: Outage | null;
  readonly #effects = new Map<EffectKey, Effect>();
  readonly #undos = new Map<EffectKey, Effect>();
  readonly #dispatches = new Map<string, Dispatch>();
  readonly #underWay = new Set<Dispatch>();
  /** How often a fact has come true, and how often someone was entitled to it. */
  readonly #facts = new Map<string, { times: number; allowed: number }>();
  readonly #notices = new Map<string, string>();

  constructor(agenda: Agenda, rng: Rng, outage: Outage | null, counts: Counts, violate: (law: string) => void) {
    this.#outage = outage;
    this.#agenda = agenda;
    this.#rng = rng;
    this.#counts = counts;
    this.#violate = violate;
  }

  /** It hears, but nobody hears it. */
  isUnheard(): boolean {
    return this.#outage !== null && this.#agenda.passed % this.#outage.everyMs < this.#outage.lastsMs;
  }

  /** From now on it is heard at all times. */
  calm(): void {
    this.#outage = null;
  }

  /** Every request that ever left a worker. */
  dispatches(): Iterable<Dispatch> {
    return this.#dispatches.values();
  }

  /** A request is on its way and lands then, unless it is lost. */
  dispatch(request: Omit<Dispatch, "state">, landsAt: number | null): Dispatch {
    const dispatch: Dispatch = { ...request, state: landsAt === null ? "gone" : "under way" };
    this.#counts.acts += 1;
    this.#dispatches.set(nameOf(request.run, request.step, request.attempt), dispatch);
    if (landsAt !== null) {
      this.#underWay.add(dispatch);
      this.#agenda.landAt(landsAt, () => this.#land(dispatch));
    }
    return dispatch;
  }

  /** Its sender gives up before it has landed. */
  recall(dispatch: Dispatch): void {
    if (dispatch.state !== "under way") return;
    dispatch.state = "gone";
    this.#underWay.delete(dispatch);
  }

  /** What a dead worker had sent may still arrive. */
  bereave(sender: number): void {
    for (const dispatch of this.#underWay) {
      if (dispatch.sender === sender && this.#rng.chance(0.5)) this.recall(dispatch);
    }
  }

  #land(dispatch: Dispatch): string {
    if (dispatch.state !== "under way") return "gone";
    dispatch.state = "landed";
    this.#underWay.delete(dispatch);
    const { key, undoes, fact, knownForMs } = dispatch;
    const now = this.#agenda.now();
    const done = undoes === null ? this.#effects : this.#undos;
    const effect = done.get(key);
    if (effect === undefined) {
      done.set(key, { fact, times: 1, at: now, undone: 0 });
    } else if (knownForMs !== null && now < effect.at + knownForMs) {
      this.#counts.deduplicated += 1;
      return "known";
    } else {
      effect.times += 1;
      this.#violate(
        `I1: ${dispatch.tool} was done twice under one key: ${fact} (${dispatch.run} ${dispatch.step}.${dispatch.attempt})`,
      );
    }
    this.#counts.effects += 1;
    if (undoes === null) this.#cameTrue(fact);
    else this.#undo(undoes, dispatch);
    return "landed";
  }

  #cameTrue(fact: string): void {
    const known = this.#fact(fact);
    known.times += 1;
    if (known.times > known.allowed)
      this.#violate(`I1: ${fact} came true ${known.times} times, allowed were ${known.allowed}`);
  }

  #undo(key: EffectKey, { tool, run, step }: Dispatch): void {
    const effect = this.#effects.get(key);
    if (effect === undefined) return;
    effect.undone += 1;
    if (effect.undone > effect.times) this.#violate(`I1: ${tool} was undone twice (${run} ${step})`);
  }

  #fact(fact: string): { times: number; allowed: number } {
    let known = this.#facts.get(fact);
    if (known === undefined) {
      known = { times: 0, allowed: 1 };
      this.#facts.set(fact, known);
    }
    return known;
  }

  /** A person was shown the earlier act and said: yes, again. */
  allowAgain(fact: string): void {
    this.#fact(fact).allowed += 1;
  }

  dispatched(run: RunId, step: StepId, attempt: number): Dispatch | undefined {
    return this.#dispatches.get(nameOf(run, step, attempt));
  }

  effect(key: EffectKey): Effect | undefined {
    return this.#effects.get(key);
  }

  undoing(key: EffectKey): Effect | undefined {
    return this.#undos.get(key);
  }

  /** It is there now: done, and not undone. */
  stands(key: EffectKey): boolean {
    const effect = this.#effects.get(key);
    return effect !== undefined && effect.times > effect.undone;
  }

  /** A request under this key may still land. */
  mayStillLand(key: EffectKey): boolean {
    for (const dispatch of this.#underWay) if (dispatch.key === key) return true;
    return false;
  }

  /** A message arrives. The same id always brings the same message. */
  hear(id: string, message: string): void {
    const known = this.#notices.get(id);
    if (known !== undefined) this.#counts.noticesAgain += 1;
    else this.#counts.notices += 1;
    if (known !== undefined && known !== message) this.#violate(`I14: notice ${id} came with two contents`);
    this.#notices.set(id, message);
  }

  heard(id: string): boolean {
    return this.#notices.has(id);
  }
}

function nameOf(run: RunId, step: StepId, attempt: number): string {
  return `${run} ${step} ${attempt}`;
}
