/** Why an expression has no answer: it cannot be asked that, or it took too much. */
export class Unanswerable extends Error {
  override readonly name = "Unanswerable";
}

/** What an answer may still cost. Whatever grows with the data is paid for before it is done. */
export class Meter {
  #left: number;
  readonly #full: number;

  constructor(fuel: number) {
    this.#left = fuel;
    this.#full = fuel;
  }

  get spent(): number {
    return this.#full - this.#left;
  }

  burn(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new Unanswerable(`it takes more than ${this.#full} steps to answer`);
  }

  /** Looking at characters one after the other is cheaper than a step. */
  burnFor(characters: number): void {
    this.burn(Math.ceil(characters / 64));
  }
}
