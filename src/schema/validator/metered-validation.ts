import { pointerTo } from "../../core/json/json-pointer.ts";
import { ProblemList, type Reason } from "../../core/json/problem-list.ts";
import type { Json } from "../../core/values/json.ts";

/** Thrown if a validation takes too many steps. */
class StepsExceededError extends Error {
  override readonly name = "Endless";
}

/** The maximum depth of nested schemas. A value has at most 64 levels, and each level may need several references. */
const MAX_DEPTH = 600;

/** The maximum number of problems that are recorded. */
const MAX_REASONS = 200;

/** The members of a value that a keyword has evaluated, for the `unevaluated…` keywords. */
export interface EvaluatedMembers {
  readonly names: Set<string>;
  /** The number of evaluated items at the start of the list. */
  items: number;
  readonly indexes: Set<number>;
}

/** The state of one validation. Every step is charged before it is done, so the time is bounded. */
export class MeteredValidation {
  readonly problems: Reason[] = [];
  /** Null if no keyword needs the evaluated members. */
  evaluated: EvaluatedMembers | null = null;
  readonly #path: (string | number)[] = [];
  #depth = 0;
  #remaining: number;

  constructor(fuel: number) {
    this.#remaining = fuel;
  }

  spend(steps: number): void {
    this.#remaining -= steps;
    if (this.#remaining < 0)
      throw new StepsExceededError("it takes too many steps: it has too many references or choices");
  }

  enter(): void {
    this.spend(1);
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH)
      throw new StepsExceededError("it refers to itself without end: it has too many references");
  }

  leave(): void {
    this.#depth -= 1;
  }

  /** Records a problem of the current value, or of one of its members. */
  report(message: string, member: string | null = null): false {
    if (this.problems.length < MAX_REASONS) this.problems.push({ path: this.#pathOf(member), message });
    return false;
  }

  /** The recorded problems, shortened for messages. */
  get reasons(): readonly Reason[] {
    const reasons = new ProblemList();
    for (const { path, message } of this.problems) reasons.add(path, message);
    return reasons.list;
  }

  /** Discards the problems after the first `length`. */
  discardProblems(length: number): void {
    this.problems.length = length;
  }

  /** Validates a member of the current value. */
  validateMember(key: string | number, value: Json, validate: Validator): boolean {
    const { evaluated } = this;
    this.evaluated = null;
    this.#path.push(key);
    const isValid = validate(value, this);
    this.#path.pop();
    this.evaluated = evaluated;
    return isValid;
  }

  #pathOf(member: string | null): string {
    const path = this.#path.reduce<string>(pointerTo, "");
    return member === null ? path : pointerTo(path, member);
  }
}

/** Returns whether a schema, or one of its keywords, accepts a value. */
export type Validator = (value: Json, validation: MeteredValidation) => boolean;
