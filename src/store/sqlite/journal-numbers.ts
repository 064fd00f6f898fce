import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { SqliteStatements } from "./statements.ts";

/** The number of journals above which all numbers are forgotten. */
const REMEMBERED_MAX = 10_000;

/**
 * The numbers of the journals of runs that this process appends to. A remembered number is only a guess: each write of a
 * head has it as a condition.
 */
export class JournalNumbers {
  readonly #statements: SqliteStatements;
  readonly #known = new Map<Tenant, Map<RunId, number>>();
  #size = 0;

  constructor(statements: SqliteStatements) {
    this.#statements = statements;
  }

  /** Returns the number of the journal of a run. Null: the run has no head. */
  of(tenant: Tenant, run: RunId): number | null {
    const known = this.#known.get(tenant)?.get(run);
    if (known !== undefined) return known;
    const found = this.#statements.journal.get(tenant, run)?.[0] ?? null;
    if (found !== null) this.remember(tenant, run, found);
    return found;
  }

  remember(tenant: Tenant, run: RunId, journal: number): void {
    if (this.#size >= REMEMBERED_MAX) this.forgetAll();
    const own = this.#known.get(tenant) ?? new Map<RunId, number>();
    this.#known.set(tenant, own.set(run, journal));
    this.#size += 1;
  }

  /** Called when a condition failed: the head may have another number now. */
  forget(tenant: Tenant, run: RunId): void {
    this.#known.get(tenant)?.delete(run);
  }

  /** Called when a transaction was undone, which may have created heads. */
  forgetAll(): void {
    this.#known.clear();
    this.#size = 0;
  }
}
