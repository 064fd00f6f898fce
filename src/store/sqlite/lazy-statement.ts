import type { SqliteDatabase, SqliteStatement, SqliteValue } from "./sqlite-driver.ts";

/** A statement that is prepared at its first use: to prepare all statements takes longer than to open the file. */
export class LazyStatement<Row> implements SqliteStatement<Row> {
  readonly #db: SqliteDatabase;
  readonly #sql: string;
  #prepared: SqliteStatement<Row> | null = null;
  #returnsArrays = false;

  constructor(db: SqliteDatabase, sql: string) {
    this.#db = db;
    this.#sql = sql;
  }

  run(...values: readonly SqliteValue[]): { readonly changes: number | bigint } {
    return (this.#prepared ?? this.#prepare()).run(...values);
  }

  get(...values: readonly SqliteValue[]): Row | undefined {
    return (this.#prepared ?? this.#prepare()).get(...values);
  }

  all(...values: readonly SqliteValue[]): readonly Row[] {
    return (this.#prepared ?? this.#prepare()).all(...values);
  }

  setReturnArrays(enabled: boolean): void {
    this.#returnsArrays = enabled;
    this.#prepared?.setReturnArrays(enabled);
  }

  #prepare(): SqliteStatement<Row> {
    const statement = this.#db.prepare(this.#sql) as SqliteStatement<Row>;
    if (this.#returnsArrays) statement.setReturnArrays(true);
    this.#prepared = statement;
    return statement;
  }
}
