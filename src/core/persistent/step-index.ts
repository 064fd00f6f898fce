import { emptyTrieMap, type TrieMap } from "./trie-map.ts";

/**
 * Where each step is in its run, by its id. Every version stays valid: the steps of the plan are the same in all of them,
 * so they are kept in a plain map, which is made and asked in a fraction of the time that a persistent one takes.
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

  /** With one more step, which has a name of its own. */
  set(id: string, index: number): StepIndex {
    return new StepIndex(this.#planned, this.#added.set(id, index));
  }
}
