import { createHash } from "node:crypto";
import type { Connection, Pool, Value } from "./driver.ts";
import { failed, isRefusal, sqlState, unknown } from "./postgres-fault.ts";

/** A function of the schema and what it is given. Every access of the store is one call, and one call is one transaction. */
export interface Call {
  readonly name: string;
  readonly values: readonly Value[];
  /** Whether it writes a fact: then a lost answer is told, and never just asked for again. */
  readonly writes?: boolean;
  /** It answers with one value, which costs less to ask for than rows do. */
  readonly isValue?: boolean;
}

/** Rows as lists of their columns. Rejects with a fault, except for what Postgres refused if `refused` is told of it. */
export type Calls = <Row extends readonly unknown[]>(
  call: Call,
  refused?: (sqlState: string) => boolean,
) => Promise<readonly Row[]>;

/** What Postgres refused and the caller asked to be told of. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly sqlState: string;

  constructor(sqlState: string, cause: unknown) {
    super(sqlState, { cause });
    this.sqlState = sqlState;
  }
}

export function callsOn(pool: Pool, where: string): Calls {
  let isPreparing = true;

  const query = async (connection: Connection, { name, values, isValue }: Call): Promise<readonly unknown[]> => {
    const text = textOf(name, values.length, isValue);
    const base = { text, values, rowMode: "array", types } as const;
    const { rows } = await connection.query(isPreparing ? { ...base, name: statementName(text) } : base);
    return rows;
  };

  const attempt = async (call: Call, refused: (sqlState: string) => boolean): Promise<readonly unknown[]> => {
    const connection = await pool.connect().catch((error: unknown) => {
      throw failed(error, where);
    });
    let isBroken = false;
    try {
      return await query(connection, call);
    } catch (error) {
      isBroken = !isRefusal(error);
      const state = sqlState(error);
      if (state !== null && (refused(state) || isPoolers(state))) throw new Refusal(state, error);
      if (!isBroken) throw failed(error, where);
      throw call.writes ? unknown(error, where) : new Lost(error);
    } finally {
      connection.release(isBroken);
    }
  };

  return async <Row extends readonly unknown[]>(call: Call, refused = (_: string) => false) => {
    for (let left = MOST_LOST; ; left -= 1) {
      try {
        return (await attempt(call, refused)) as readonly Row[];
      } catch (error) {
        const isPooled = error instanceof Refusal && isPoolers(error.sqlState) && isPreparing;
        if (!isPooled && !(error instanceof Lost)) throw error;
        // A pooler that changes servers between two transactions knows no statements by name.
        if (isPooled) isPreparing = false;
        else if (left === 0) throw failed(error.cause, where);
      }
    }
  };
}

/** A server that ends connections ends all that a pool has idle, and each is noticed when it is used. */
const MOST_LOST = 10;

/** The connection broke, and asking again does no harm. The server may have ended it long ago. */
class Lost extends Error {
  override readonly name = "Lost";

  constructor(cause: unknown) {
    super("lost", { cause });
  }
}

const texts = new Map<string, string>();

export function textOf(name: string, values: number, isValue = false): string {
  const known = texts.get(name);
  if (known !== undefined) return known;
  const given = Array.from({ length: values }, (_, index) => `$${index + 1}`).join(", ");
  const text = `select ${isValue ? "" : "* from "}writ.${name}(${given})`;
  texts.set(name, text);
  return text;
}

const names = new Map<string, string>();

/** Named by its text: whoever else prepared something under this name on the same server prepared the same. */
function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `writ_${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
  names.set(text, name);
  return name;
}

/** The statement is not there, or is there already: it was prepared on another server connection than this one. */
function isPoolers(sqlState: string): boolean {
  return sqlState === "26000" || sqlState === "42P05";
}

const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t",
  17: (text) => Buffer.from(text.slice(2), "hex"),
  20: Number,
  23: Number,
  701: Number,
  1000: (text) => listOf(text).map((element) => element === "t"),
  1016: longList,
  3802: (text) => JSON.parse(text),
};

const types = { getTypeParser: (oid: number) => parsers[oid] ?? asText };

export function longList(text: string): readonly number[] {
  return listOf(text).map(Number);
}

/** Of what is never quoted: numbers, and whether something is so. */
function listOf(text: string): readonly string[] {
  return text.slice(1, -1).split(",").filter(Boolean);
}

function asText(text: string): string {
  return text;
}
