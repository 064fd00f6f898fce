import type { RunId, Tenant } from "../../core/values/ids.ts";
import { LazyStatement } from "./lazy-statement.ts";
import type { SqliteDatabase, SqliteValue } from "./sqlite-driver.ts";

/** The changes of epochs by this process, on one connection. */
export interface EpochChanges {
  /** Called before a statement that may change the epoch of a run; without a run, those of many. */
  onChange: (tenant?: Tenant, run?: RunId) => void;
}

const changesByDatabase = new WeakMap<SqliteDatabase, EpochChanges>();

/** Returns the same object for the same connection, so that no part of the program changes an epoch unseen. */
export function epochChanges(db: SqliteDatabase): EpochChanges {
  const found = changesByDatabase.get(db) ?? { onChange: () => {} };
  changesByDatabase.set(db, found);
  return found;
}

/** A statement that changes epochs. That of one run has its tenant and run as the first two values. */
export class EpochStatement<Row> extends LazyStatement<Row> {
  readonly #changes: EpochChanges;
  readonly #of: "a run" | "many runs";

  constructor(db: SqliteDatabase, sql: string, of: "a run" | "many runs") {
    super(db, sql);
    this.#changes = epochChanges(db);
    this.#of = of;
  }

  override run(...values: readonly SqliteValue[]): { readonly changes: number | bigint } {
    this.#tell(values);
    return super.run(...values);
  }

  override get(...values: readonly SqliteValue[]): Row | undefined {
    this.#tell(values);
    return super.get(...values);
  }

  #tell([tenant, run]: readonly SqliteValue[]): void {
    if (this.#of === "a run") this.#changes.onChange(tenant as Tenant, run as RunId);
    else this.#changes.onChange();
  }
}
