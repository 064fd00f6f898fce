import { emptyTrieMap, type TrieMap } from "./trie-map.ts";

/**
 * The index of each step in its run, by step id. Every version stays valid. The steps of the plan are the same in all
 * versions, so they are in a plain map, which is built and read much faster than a persistent one.
 */
export class StepIndex {
  readonly #planned: ReadonlyMap<string, number>;
  readonly #added: TrieMap<number>;

  private constructor(planned: ReadonlyMap<string, number>, added: TrieMap<number>) {
    this.#planned = planned;
    this.#added = added;
  }

  static of(planned: readonly { readonly step_id: string }[]): StepIndex {
    const index = new Map<string, number>();
    for (const [at, { step_id }] of planned.entries()) index.set(step_id, at);
    return new StepIndex(index, emptyTrieMap());
  }

  get(id: string): number | undefined {
    return this.#planned.get(id) ?? this.#added.get(id);
  }

  has(id: string): boolean {
    return this.get(id) !== undefined;
  }

  /** Returns an index with one more step. The id is not in the index yet. */
  set(id: string, index: number): StepIndex {
    return new StepIndex(this.#planned, this.#added.set(id, index));
  }
}
