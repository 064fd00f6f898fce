/** A seeded random number generator (sfc32), the only random source of a simulation. */
export class Rng {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
    this.#c = Math.imul(seed + 0x7f4a7c15, 0xc2b2ae35);
    for (let round = 0; round < 12; round += 1) this.#next();
  }

  #next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** In [0, 1). */
  float(): number {
    return this.#next() / 4294967296;
  }

  /** A whole number in [0, n). */
  below(n: number): number {
    return Math.floor(this.float() * n);
  }

  /** A whole number in [low, high]. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** Draws no number if the rate is 0. */
  chance(rate: number): boolean {
    return rate > 0 && this.float() < rate;
  }

  pick<Value>(list: readonly Value[]): Value {
    return list[this.below(list.length)] as Value;
  }
}
