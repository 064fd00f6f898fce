import { useEffect, useMemo, useReducer } from "preact/hooks";
import type { RunChange, RunListOptions } from "../../../src/engine/api/list-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { followChanges } from "../../live/follow-changes.ts";
import { type Rows, withFirstPage, withNextPage, withRow } from "./merged-rows.ts";

/** The rows of a request. The first request is short, so that the page shows something at once. */
const firstPage = 100;
const nextPage = 250;
/** Changed rows below the first page that are read again at once. */
const rereadMax = 20;

type Options = Omit<RunListOptions, "principal" | "limit" | "after" | "count">;

/** The loaded part of the list of runs, which follows the changes of the server. */
export class RunList {
  readonly #options: Options;
  readonly #onChange: () => void;
  readonly #changed = new Set<string>();
  #next: string | null = null;
  #isReading = false;
  #isEnded = false;
  rows: Rows = [];
  problem: ApiProblem | null = null;
  /** False: the first page has not been read. */
  isReady = false;
  /** The first page as it is now, while the reader is further down: showing it would move the rows. */
  held: { readonly rows: Rows; readonly isWhole: boolean } | null = null;
  /** True while the first row is in view. */
  isAtTop = true;

  constructor(options: Options, onChange: () => void) {
    this.#options = options;
    this.#onChange = onChange;
  }

  get hasMore(): boolean {
    return this.#next !== null;
  }

  get newRuns(): number {
    const first = this.rows[0]?.run_id ?? "";
    return this.held?.rows.filter(({ run_id }) => run_id > first).length ?? 0;
  }

  /** Reads the list and follows its changes. Returns a function that ends it; it can be started again. */
  start(): () => void {
    this.#isEnded = false;
    void this.reload();
    const concerns = (change: RunChange | null) => {
      if (change !== null) this.#changed.add(change.run_id);
      return true;
    };
    const stop = followChanges(concerns, () => this.reload());
    return () => {
      this.#isEnded = true;
      stop();
    };
  }

  /** Reads the first page again, and the changed rows below it. */
  async reload(): Promise<void> {
    const changed = [...this.#changed];
    this.#changed.clear();
    await this.#read(async () => {
      const { items, next } = await callRoute("runs", { ...this.#options, limit: firstPage });
      const isWhole = next === null;
      const last = items.at(-1)?.run_id ?? "";
      if (this.isAtTop || !this.isReady) this.#show(items, isWhole);
      else this.held = { rows: items, isWhole };
      if (!this.isReady) this.#next = next;
      this.isReady = true;
      const loaded = changed.filter((id) => (isWhole || id < last) && this.rows.some(({ run_id }) => run_id === id));
      await Promise.all(loaded.slice(0, rereadMax).map((id) => this.#rereadRow(id)));
    });
  }

  /** Shows the rows that were held back. */
  showHeld(): void {
    if (this.held !== null) this.#show(this.held.rows, this.held.isWhole);
    this.held = null;
    this.#onChange();
  }

  async loadMore(): Promise<void> {
    const after = this.#next;
    if (after === null || this.#isReading) return;
    this.#isReading = true;
    await this.#read(async () => {
      const { items, next } = await callRoute("runs", { ...this.#options, limit: nextPage, after });
      this.rows = withNextPage(this.rows, items);
      this.#next = next;
    });
    this.#isReading = false;
  }

  #show(items: Rows, isWhole: boolean): void {
    this.rows = withFirstPage(this.rows, items, isWhole);
    if (isWhole) this.#next = null;
    else if (this.rows.length === items.length) this.#next = items.at(-1)?.run_id ?? null;
  }

  async #rereadRow(run_id: string): Promise<void> {
    const before = this.rows[this.rows.findIndex((row) => row.run_id === run_id) - 1]?.run_id;
    const place = before === undefined ? {} : { after: before };
    const { items } = await callRoute("runs", { ...this.#options, ...place, limit: 1 });
    this.rows = withRow(this.rows, run_id, items.find((row) => row.run_id === run_id) ?? null);
  }

  async #read(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.problem = null;
    } catch (error) {
      this.problem = toProblem(error);
    }
    if (!this.#isEnded) this.#onChange();
  }
}

/** Returns the list for these filters. Other filters begin another list. */
export function useRunList(options: Options): RunList {
  const key = JSON.stringify(options);
  const [, render] = useReducer((turn: number) => turn + 1, 0);
  const list = useMemo(() => new RunList(options, () => render(undefined)), [key]);
  useEffect(() => list.start(), [list]);
  return list;
}
