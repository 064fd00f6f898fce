import type { Store } from "../../src/core/store.ts";
import type { Database, Statement } from "../../src/store/sqlite/driver.ts";

/** Where to die: the nth time this point is passed. */
export interface Kill {
  readonly point: string;
  readonly nth: number;
  /** The process lives, and the store answers with this fault instead. */
  readonly fault?: "STORE_FAILED" | "STORE_UNKNOWN";
}

/** Kills its own process, for real, at one point of the road; or only notes which points it passes. */
export class Killer {
  readonly #kill: Kill | null;
  readonly #errorOf: (code: NonNullable<Kill["fault"]>) => Error;
  readonly #counts = new Map<string, number>();
  readonly #passed: Kill[] = [];

  constructor(kill: Kill | null, errorOf: (code: NonNullable<Kill["fault"]>) => Error = Error) {
    this.#kill = kill;
    this.#errorOf = errorOf;
  }

  get passed(): readonly Kill[] {
    return this.#passed;
  }

  readonly at = (point: string): void => {
    const nth = (this.#counts.get(point) ?? 0) + 1;
    this.#counts.set(point, nth);
    this.#passed.push({ point, nth });
    if (this.#kill?.point !== point || this.#kill.nth !== nth) return;
    if (this.#kill.fault !== undefined) throw this.#errorOf(this.#kill.fault);
    process.kill(process.pid, "SIGKILL");
  };
}

/** A store at whose writes the process can die: before they are made, and when they have landed but nobody was told. */
export function deadly(store: Store, { at }: Killer): Store {
  const around =
    <Values extends readonly unknown[], Result>(name: string, work: (...values: Values) => Promise<Result>) =>
    async (...values: Values): Promise<Result> => {
      at(`${name}.asked`);
      const result = await work(...values);
      at(`${name}.landed`);
      return result;
    };
  return {
    ...store,
    append: around("append", store.append),
    mark: around("mark", store.mark),
    claim: around("claim", store.claim),
    putBlob: around("blob", store.putBlob),
    release: around("release", store.release),
  };
}

/** A connection on which the process can die before any statement that writes, commits included. */
export function deadlyDatabase(db: Database, killer: Killer): Database {
  return {
    get isTransaction() {
      return db.isTransaction;
    },
    prepare: (sql) => deadlyStatement(db.prepare(sql), killer),
    exec: (sql) => db.exec(sql),
    close: () => db.close(),
  };
}

function deadlyStatement(statement: Statement, { at }: Killer): Statement {
  return {
    run: (...values) => {
      at("sql");
      return statement.run(...values);
    },
    get: (...values) => statement.get(...values),
    all: (...values) => statement.all(...values),
    setReturnArrays: (enabled) => statement.setReturnArrays(enabled),
  };
}
