/**
 * The data version of a connection. SQLite changes it when another connection has written. It is read at most once per
 * turn of the event loop: a message about a write of another process arrives in a later turn.
 */
export class DataVersion {
  readonly #read: () => number | undefined;
  #latest: number | null = null;
  /** SQLite counts from 1. */
  #nextUnread = -1;

  constructor(read: () => number | undefined) {
    this.#read = read;
  }

  /** Returns the data version; a new number in every turn if it cannot be read. */
  get(): number {
    return this.#latest ?? this.observe();
  }

  /** Reads the data version for the rest of this turn. Inside a transaction, this takes no locks. */
  observe(): number {
    if (this.#latest === null) setImmediate(this.#forget);
    this.#latest = this.#readOrNull() ?? this.#nextUnread--;
    return this.#latest;
  }

  readonly #forget = () => {
    this.#latest = null;
  };

  #readOrNull(): number | null {
    try {
      return this.#read() ?? null;
    } catch {
      // The read that follows reports the error to its caller.
      return null;
    }
  }
}
