/** A member of a queue. */
export interface QueueTurn {
  /** True if it is the first in its queue. */
  readonly isFirst: boolean;
  /** Leaves the queue, at any position. */
  leave(): void;
}

type QueueMembers = Map<object, () => void>;

/** Queues by name. The members of one queue take turns in the order in which they joined. */
export class NamedQueues {
  readonly #queues = new Map<string, QueueMembers>();

  /**
   * Joins a queue. `next` is called when all earlier members have left; not for the first member, whose turn begins at
   * once.
   */
  join(name: string, next: () => void): QueueTurn {
    const line = this.#queues.get(name) ?? new Map();
    this.#queues.set(name, line);
    const place = {};
    line.set(place, next);
    const isFirst = () => line.keys().next().value === place;
    return {
      get isFirst() {
        return isFirst();
      },
      leave: () => (isFirst() ? this.#advance(name, line, place) : void line.delete(place)),
    };
  }

  /** The number of queues with members. */
  get size(): number {
    return this.#queues.size;
  }

  #advance(name: string, line: QueueMembers, first: object): void {
    line.delete(first);
    const [next] = line.values();
    if (next === undefined) this.#queues.delete(name);
    else next();
  }
}
