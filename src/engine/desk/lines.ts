/** A place in a line. */
export interface Turn {
  /** It is the first in its line. */
  readonly isNow: boolean;
  /** Goes, whether it was its turn or not. */
  leave(): void;
}

type Waiting = Map<object, () => void>;

/** Those who do something one after the other, in the order in which they came; each line has a name. */
export class Lines {
  readonly #lines = new Map<string, Waiting>();

  /** `next` is called when all before have gone. Who comes first is not called: it is its turn at once. */
  join(name: string, next: () => void): Turn {
    const line = this.#lines.get(name) ?? new Map();
    this.#lines.set(name, line);
    const place = {};
    line.set(place, next);
    const isFirst = () => line.keys().next().value === place;
    return {
      get isNow() {
        return isFirst();
      },
      leave: () => (isFirst() ? this.#advance(name, line, place) : void line.delete(place)),
    };
  }

  /** How many lines somebody stands in. */
  get size(): number {
    return this.#lines.size;
  }

  #advance(name: string, line: Waiting, first: object): void {
    line.delete(first);
    const [next] = line.values();
    if (next === undefined) this.#lines.delete(name);
    else next();
  }
}
