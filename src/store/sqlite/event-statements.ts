import type { Prepare, SqliteStatement } from "./sqlite-driver.ts";

/** Makes a statement return arrays: whole stores are read with it, and objects take half as much time again. */
export const returnArrays = <Row>(statement: SqliteStatement<Row>): SqliteStatement<Row> => {
  statement.setReturnArrays(true);
  return statement;
};

/** The types of events that may leave the row of the head behind: beginnings and results of calls. */
export const progressTypes: ReadonlySet<string> = new Set(["step.started", "step.succeeded"]);

/** The number of events in one insert, which takes half the time of single inserts; larger inserts are slower again. */
export const EVENTS_PER_INSERT = 16;

/** The number of events in one insert if fewer wait. */
export const EVENTS_PER_SHORT_INSERT = 4;

/** Inserts events of several journals. */
function insertEventsSql(count: number): string {
  const values = Array.from({ length: count }, () => "(?, ?, ?, ?, ?, ?, ?)");
  return `insert into event (journal, type, v, position, at, body, hash) values ${values.join(", ")}`;
}

/**
 * Inserts consecutive events. Bound first: the shared values and the first position; then time, body and hash of each.
 */
function insertSimilarEventsSql(count: number): string {
  const values = Array.from({ length: count }, (_, index) => `(?1, ?2, ?3, ?4 + ${index}, ?, ?, ?)`);
  return `insert into event (journal, type, v, position, at, body, hash) values ${values.join(", ")}`;
}

/** The texts of the statements that insert events, made once per process. */
const insertSqls = {
  one: insertEventsSql(1),
  some: insertEventsSql(EVENTS_PER_SHORT_INSERT),
  many: insertEventsSql(EVENTS_PER_INSERT),
  similar: insertSimilarEventsSql(EVENTS_PER_INSERT),
};

/** The number of a journal whose head exists. */
const ownJournal = "(select journal from head where tenant = ?1 and run = ?2)";

/** The number of a journal, also of one whose head was deleted. */
export const anyJournal = `coalesce(${ownJournal},
  (select journal from event indexed by event_name where tenant = ?1 and run = ?2))`;

/** The statements that write events, and those that find one. */
export function eventStatements(prepare: Prepare) {
  return {
    insertFirstEvent: prepare(
      `insert into event (tenant, run, journal, type, v, position, at, body, hash)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertEvent: prepare(insertSqls.one),
    insertSomeEvents: prepare(insertSqls.some),
    insertManyEvents: prepare(insertSqls.many),
    insertSimilarEvents: prepare(insertSqls.similar),
    journal: returnArrays(prepare<readonly [journal: number]>(`select ${ownJournal}`)),
    eventHash: prepare<{ readonly hash: Uint8Array }>(
      `select hash from event where journal = ${anyJournal} and position = ?3`,
    ),
    eraseBody: prepare(
      "update event set body = null, body_hash = ?3 where journal = ?1 and position = ?2 and body is not null",
    ),
  };
}
