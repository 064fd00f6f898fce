import type { SqliteDatabase, SqliteStatement } from "../src/store/sqlite/sqlite-driver.ts";

/** Counts of the writes of a database. */
export interface WriteCounts {
  transactions: number;
  /** Transactions whose commit waited for the disk. */
  syncs: number;
  rows: number;
}

export function newWriteCounts(): WriteCounts {
  return { transactions: 0, syncs: 0, rows: 0 };
}

/** Returns the database with counted writes. SQLite syncs a commit with writes while `synchronous` is full. */
export function countWrites(db: SqliteDatabase, writes: WriteCounts): SqliteDatabase {
  let full = false;
  let dirty = 0;
  const wrote = (sql: string, rows: number): void => {
    if (/^\s*(?:insert|update|delete)/i.test(sql)) dirty += rows;
    if (!/^\s*commit/i.test(sql) || dirty === 0) return;
    writes.transactions += 1;
    writes.syncs += full ? 1 : 0;
    writes.rows += dirty;
    dirty = 0;
  };
  return withMethods(db, {
    prepare: (sql) => countStatement(db.prepare(sql), (rows) => wrote(sql, rows)),
    exec: (sql) => {
      const pragma = /pragma synchronous = (\w+)/.exec(sql);
      if (pragma !== null) full = pragma[1] === "full";
      db.exec(sql);
    },
  });
}

function countStatement(statement: SqliteStatement, wrote: (rows: number) => void): SqliteStatement {
  return withMethods(statement, {
    run: (...values) => {
      const ran = statement.run(...values);
      wrote(Number(ran.changes));
      return ran;
    },
    get: (...values) => {
      const row = statement.get(...values);
      if (row !== undefined) wrote(1); // `returning` returns the written row.
      return row;
    },
  });
}

/** Returns an object of the driver with some methods replaced. Its methods work only on the object itself. */
function withMethods<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return new Proxy(target, {
    get: (_, name) => {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name, target);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}
