import type { Json } from "../core/json/json.ts";
import { pointerTo } from "../core/json/pointer.ts";
import { type Reason, Reasons } from "../core/json/reasons.ts";

/** Why a schema has no answer: it takes too many steps. */
class Endless extends Error {
  override readonly name = "Endless";
}

/** So deep a schema is followed into itself. A value is at most 64 levels deep, and each may be reached over some references. */
const DEPTH_MAX = 600;

/** So many things that are wrong are told; more would help nobody. */
const REASONS_MAX = 200;

/** Which members of one value were judged by something, for those who judge the rest. */
export interface Marks {
  readonly names: Set<string>;
  /** How many items from the first on. */
  items: number;
  readonly indexes: Set<number>;
}

/** One value on its way through a schema. Every step is paid for before it is taken, so that it has an end that is known beforehand. */
export class Trial {
  readonly wrong: Reason[] = [];
  /** Null: nobody judges the rest. */
  marks: Marks | null = null;
  readonly #path: (string | number)[] = [];
  #depth = 0;
  #fuel: number;

  constructor(fuel: number) {
    this.#fuel = fuel;
  }

  burn(steps: number): void {
    this.#fuel -= steps;
    if (this.#fuel < 0) throw new Endless("it takes too many steps: too many references to follow, or choices to try");
  }

  enter(): void {
    this.burn(1);
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new Endless("it leads back to itself: too many references to follow");
  }

  leave(): void {
    this.#depth -= 1;
  }

  /** Says what is wrong here, or with a member of it. */
  says(message: string, member: string | null = null): false {
    if (this.wrong.length < REASONS_MAX) this.wrong.push({ path: this.#pathOf(member), message });
    return false;
  }

  /** All that was said, fit to be shown. */
  get reasons(): readonly Reason[] {
    const reasons = new Reasons();
    for (const { path, message } of this.wrong) reasons.add(path, message);
    return reasons.list;
  }

  /** Whatever was said since is of no interest. */
  forget(length: number): void {
    this.wrong.length = length;
  }

  /** Judges a member of the value at hand. */
  inside(key: string | number, value: Json, judge: Judge): boolean {
    const { marks } = this;
    this.marks = null;
    this.#path.push(key);
    const fits = judge(value, this);
    this.#path.pop();
    this.marks = marks;
    return fits;
  }

  #pathOf(member: string | null): string {
    const path = this.#path.reduce<string>(pointerTo, "");
    return member === null ? path : pointerTo(path, member);
  }
}

/** What a schema, or one word of it, says of a value. True: it fits. */
export type Judge = (value: Json, trial: Trial) => boolean;
