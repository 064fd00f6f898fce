import { createHash } from "node:crypto";
import type { Connection, PgValue, Pool } from "./pg-driver.ts";
import { isSqlError, sqlState, toPostgresFault, unknownOutcomeFault } from "./postgres-fault.ts";

/**
 * A function of the schema with its arguments. Every access of the store is one call, and one call is one transaction.
 */
export interface FunctionCall {
  readonly name: string;
  readonly values: readonly PgValue[];
  /** True if the call writes a fact. If its answer is lost, it fails and is not repeated. */
  readonly writes?: boolean;
  /** True if the function returns one value, which is cheaper to select than rows. */
  readonly isValue?: boolean;
}

/**
 * Returns each row as a list of its columns. Rejects with a fault, or with `SqlRefusal` if `isExpected` accepts the
 * SQLSTATE.
 */
export type FunctionCaller = <Row extends readonly unknown[]>(
  call: FunctionCall,
  isExpected?: (sqlState: string) => boolean,
) => Promise<readonly Row[]>;

/** An error of Postgres that the caller handles itself. */
export class SqlRefusal extends Error {
  override readonly name = "Refusal";
  readonly sqlState: string;

  constructor(sqlState: string, cause: unknown) {
    super(sqlState, { cause });
    this.sqlState = sqlState;
  }
}

export function createFunctionCaller(pool: Pool, where: string): FunctionCaller {
  let isPreparing = true;

  const query = async (
    connection: Connection,
    { name, values, isValue }: FunctionCall,
  ): Promise<readonly unknown[]> => {
    const text = callText(name, values.length, isValue);
    const base = { text, values, rowMode: "array", types } as const;
    const { rows } = await connection.query(isPreparing ? { ...base, name: statementName(text) } : base);
    return rows;
  };

  const callOnce = async (
    call: FunctionCall,
    isExpected: (sqlState: string) => boolean,
  ): Promise<readonly unknown[]> => {
    const connection = await pool.connect().catch((error: unknown) => {
      throw toPostgresFault(error, where);
    });
    let isBroken = false;
    try {
      return await query(connection, call);
    } catch (error) {
      isBroken = !isSqlError(error);
      const state = sqlState(error);
      if (state !== null && (isExpected(state) || isPreparedElsewhere(state))) throw new SqlRefusal(state, error);
      if (!isBroken) throw toPostgresFault(error, where);
      throw call.writes ? unknownOutcomeFault(error, where) : new ConnectionLost(error);
    } finally {
      connection.release(isBroken);
    }
  };

  return async <Row extends readonly unknown[]>(call: FunctionCall, isExpected = (_: string) => false) => {
    for (let retries = MAX_LOST_CONNECTIONS; ; retries -= 1) {
      try {
        return (await callOnce(call, isExpected)) as readonly Row[];
      } catch (error) {
        const isPooled = error instanceof SqlRefusal && isPreparedElsewhere(error.sqlState) && isPreparing;
        if (!isPooled && !(error instanceof ConnectionLost)) throw error;
        // A transaction pooler may use another server connection for each transaction, so named statements do not work.
        if (isPooled) isPreparing = false;
        else if (retries === 0) throw toPostgresFault(error.cause, where);
      }
    }
  };
}

/** A restarted server has closed all idle connections of the pool, and each is noticed only when it is used. */
const MAX_LOST_CONNECTIONS = 10;

/** The connection broke during a call that can be repeated. The server may have closed it long before. */
class ConnectionLost extends Error {
  override readonly name = "Lost";

  constructor(cause: unknown) {
    super("lost", { cause });
  }
}

const callTexts = new Map<string, string>();

export function callText(name: string, values: number, isValue = false): string {
  const known = callTexts.get(name);
  if (known !== undefined) return known;
  const parameters = Array.from({ length: values }, (_, index) => `$${index + 1}`).join(", ");
  const text = `select ${isValue ? "" : "* from "}writ.${name}(${parameters})`;
  callTexts.set(name, text);
  return text;
}

const statementNames = new Map<string, string>();

/** Names a statement by the hash of its text, so that one name means the same statement in every process. */
function statementName(text: string): string {
  const known = statementNames.get(text);
  if (known !== undefined) return known;
  const name = `writ_${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
  statementNames.set(text, name);
  return name;
}

/** True if the named statement does not exist or already exists: it was prepared on another server connection. */
function isPreparedElsewhere(sqlState: string): boolean {
  return sqlState === "26000" || sqlState === "42P05";
}

const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t",
  17: (text) => Buffer.from(text.slice(2), "hex"),
  20: Number,
  23: Number,
  701: Number,
  1000: (text) => parseUnquotedArray(text).map((element) => element === "t"),
  1016: parseInt8Array,
  3802: (text) => JSON.parse(text),
};

const types = { getTypeParser: (oid: number) => parsers[oid] ?? keepText };

export function parseInt8Array(text: string): readonly number[] {
  return parseUnquotedArray(text).map(Number);
}

/** Parses an array whose elements are never quoted: numbers or booleans. */
function parseUnquotedArray(text: string): readonly string[] {
  return text.slice(1, -1).split(",").filter(Boolean);
}

function keepText(text: string): string {
  return text;
}
