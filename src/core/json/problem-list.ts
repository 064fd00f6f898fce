import { toWellFormed } from "./well-formed-text.ts";

/** One problem: where it is (a JSON pointer), what it is, and what to do about it. */
export interface Reason {
  readonly path: string;
  readonly message: string;
}

/** More reasons would not help a reader, and a hostile input could cause millions. */
export const REASONS_MAX = 100;
const LENGTH_MAX = 500;

/** The problems in the order in which they were found; beyond the limit they are only counted. */
export class ProblemList {
  readonly #found: Reason[] = [];
  #count = 0;

  /** A text that is expensive to build is passed as a function, which is called only if the reason is kept. */
  add(path: string | (() => string), message: string | (() => string)): void {
    this.#count += 1;
    if (this.#count > REASONS_MAX) return;
    this.#found.push({ path: truncate(textOf(path)), message: truncate(textOf(message)) });
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  get list(): readonly Reason[] {
    const more = this.#count - this.#found.length;
    if (more === 0) return this.#found;
    return [...this.#found, { path: "", message: `and ${more} more; fix these first` }];
  }
}

function textOf(text: string | (() => string)): string {
  return typeof text === "string" ? text : text();
}

/** Reasons are stored and printed, and they quote what they refuse. */
function truncate(text: string): string {
  return toWellFormed(text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}…` : text);
}
