import type { Database, Statement } from "../src/store/sqlite/driver.ts";

/** What a database was made to write. */
export interface Writes {
  transactions: number;
  /** Transactions whose commit waited for the disk. */
  syncs: number;
  rows: number;
}

export function nothingWritten(): Writes {
  return { transactions: 0, syncs: 0, rows: 0 };
}

/** The same database, which also counts. SQLite syncs a commit that wrote something while `synchronous` is full. */
export function counting(db: Database, writes: Writes): Database {
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
  return overlaid(db, {
    prepare: (sql) => counted(db.prepare(sql), (rows) => wrote(sql, rows)),
    exec: (sql) => {
      const pragma = /pragma synchronous = (\w+)/.exec(sql);
      if (pragma !== null) full = pragma[1] === "full";
      db.exec(sql);
    },
  });
}

function counted(statement: Statement, wrote: (rows: number) => void): Statement {
  return overlaid(statement, {
    run: (...values) => {
      const ran = statement.run(...values);
      wrote(Number(ran.changes));
      return ran;
    },
    get: (...values) => {
      const row = statement.get(...values);
      if (row !== undefined) wrote(1); // `returning` answers with the row it wrote.
      return row;
    },
  });
}

/** An object of the driver with some methods replaced. Its own refuse to be called on, or copied to, anything else. */
function overlaid<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return new Proxy(target, {
    get: (_, name) => {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name, target);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}
