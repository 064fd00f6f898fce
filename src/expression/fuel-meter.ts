/** Thrown if an expression is invalid, cannot be evaluated on its data, or exceeds its step limit. */
export class EvaluationError extends Error {
  override readonly name = "Unanswerable";
}

/** Counts the steps of an evaluation. Work that grows with the data is charged before it is done. */
export class FuelMeter {
  #remaining: number;
  readonly #limit: number;

  constructor(fuel: number) {
    this.#remaining = fuel;
    this.#limit = fuel;
  }

  get spent(): number {
    return this.#limit - this.#remaining;
  }

  spend(units: number): void {
    this.#remaining -= units;
    if (this.#remaining < 0) throw new EvaluationError(`it takes more than ${this.#limit} steps`);
  }

  /** Charges one step for each 64 characters of a scan. */
  spendForText(characters: number): void {
    this.spend(Math.ceil(characters / 64));
  }
}
