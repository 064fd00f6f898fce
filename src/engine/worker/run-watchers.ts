/** A caller that waits for a change. */
interface Watcher {
  readonly appends: boolean;
  wake(): void;
}

/** The change that a caller waits for. */
interface WatchTerms {
  /** The name of the run. Null: any run. */
  readonly run: string | null;
  /** Also wakes the caller after each append of a leased run. */
  readonly appends: boolean;
  readonly signal: AbortSignal | undefined;
}

/** The callers that wait until a run may have changed. A change of one run wakes only the callers that wait for it. */
export class RunWatchers {
  readonly #ofAnyRun = new Set<Watcher>();
  readonly #ofRun = new Map<string, Set<Watcher>>();

  get isEmpty(): boolean {
    return this.#ofAnyRun.size === 0 && this.#ofRun.size === 0;
  }

  /** Calls `resolve` once: at the next change, when the signal aborts, or when the returned function is called. */
  watch({ run, appends, signal }: WatchTerms, resolve: () => void): () => void {
    const stop = () => {
      this.#remove(run, watcher);
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    const watcher = { appends, wake: stop };
    this.#of(run).add(watcher);
    signal?.addEventListener("abort", stop, { once: true });
    return stop;
  }

  /** A leased run has appended. */
  onAppend(run: string): void {
    for (const watchers of [this.#ofRun.get(run), this.#ofAnyRun])
      for (const watcher of [...(watchers ?? [])]) if (watcher.appends) watcher.wake();
  }

  /** A run may have changed. Null: every run may have changed. */
  onChange(run: string | null): void {
    const named = run === null ? [...this.#ofRun.values()] : [this.#ofRun.get(run) ?? []];
    for (const watchers of [...named, this.#ofAnyRun]) for (const watcher of [...watchers]) watcher.wake();
  }

  #of(run: string | null): Set<Watcher> {
    if (run === null) return this.#ofAnyRun;
    const watchers = this.#ofRun.get(run) ?? new Set();
    this.#ofRun.set(run, watchers);
    return watchers;
  }

  #remove(run: string | null, watcher: Watcher): void {
    const watchers = this.#of(run);
    watchers.delete(watcher);
    if (run !== null && watchers.size === 0) this.#ofRun.delete(run);
  }
}
