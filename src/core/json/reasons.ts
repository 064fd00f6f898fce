import { toWellFormed } from "./well-formed.ts";

/** One thing that is wrong, where (a JSON pointer), and what to do about it. */
export interface Reason {
  readonly path: string;
  readonly message: string;
}

/** More would help nobody, and a hostile input could ask for millions. */
export const reasonsMax = 100;
const lengthMax = 500;

/** Everything that is wrong, in the order it was found; beyond the limit only counted. */
export class Reasons {
  readonly #found: Reason[] = [];
  #count = 0;

  /** What costs something to find is given as a function; it is asked only if it will be shown. */
  add(path: string | (() => string), message: string | (() => string)): void {
    this.#count += 1;
    if (this.#count > reasonsMax) return;
    this.#found.push({ path: shown(textOf(path)), message: shown(textOf(message)) });
  }

  get none(): boolean {
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
function shown(text: string): string {
  return toWellFormed(text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text);
}
