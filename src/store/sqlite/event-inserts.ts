import type { SealedEvent } from "../../core/store/store.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { EVENTS_PER_INSERT, EVENTS_PER_SHORT_INSERT } from "./event-statements.ts";
import type { SqliteValue } from "./sqlite-driver.ts";
import type { SqliteStatements } from "./statements.ts";

/** The number of values that are bound per event. */
const VALUES_PER_EVENT = 7;

/**
 * Inserts the events of a transaction into the log. Events of several runs share a statement, which takes half the time
 * of one statement per event, so they wait here until `flush`. A read of events inside the transaction flushes first.
 */
export class EventInserts {
  readonly #statements: SqliteStatements;
  /** The values of the events that wait. */
  #waiting: SqliteValue[] = [];

  constructor(statements: SqliteStatements) {
    this.#statements = statements;
  }

  /** Inserts the first event of a journal at once: the number of the next journal depends on it. */
  insertFirst(tenant: Tenant, run: RunId, journal: number, event: SealedEvent): void {
    const { type, v, position, at, body, hash } = event;
    this.#statements.insertFirstEvent.run(tenant, run, journal, type, v, position, at, body, hash);
  }

  /** Adds later events of a journal. */
  add(journal: number, events: readonly SealedEvent[], from: number): void {
    for (let next = from; next < events.length; ) {
      if (haveSameType(events, next, EVENTS_PER_INSERT)) {
        this.#insertSameType(journal, events, next);
        next += EVENTS_PER_INSERT;
      } else {
        const { type, v, position, at, body, hash } = events[next] as SealedEvent;
        this.#waiting.push(journal, type, v, position, at, body, hash);
        if (this.#waiting.length === EVENTS_PER_INSERT * VALUES_PER_EVENT) this.#insertAll();
        next += 1;
      }
    }
  }

  /** Inserts consecutive events of one type. Steps that end together produce such events. */
  #insertSameType(journal: number, events: readonly SealedEvent[], from: number): void {
    this.flush(); // The log has the events of a journal in their order.
    const { type, v, position } = events[from] as SealedEvent;
    const values: SqliteValue[] = [journal, type, v, position];
    for (let index = from; index < from + EVENTS_PER_INSERT; index += 1) {
      const { at, body, hash } = events[index] as SealedEvent;
      values.push(at, body, hash);
    }
    this.#statements.insertSimilarEvents.run(...values);
  }

  #insertAll(): void {
    const values = this.#waiting;
    this.#waiting = [];
    this.#statements.insertManyEvents.run(...values);
  }

  /** Inserts the events that wait. */
  flush(): void {
    const values = this.#waiting;
    if (values.length === 0) return;
    this.#waiting = [];
    if (values.length === VALUES_PER_EVENT) return void this.#statements.insertEvent.run(...values);
    let from = 0;
    const short = EVENTS_PER_SHORT_INSERT * VALUES_PER_EVENT;
    for (; from + short <= values.length; from += short)
      this.#statements.insertSomeEvents.run(...values.slice(from, from + short));
    for (; from < values.length; from += VALUES_PER_EVENT)
      this.#statements.insertEvent.run(...values.slice(from, from + VALUES_PER_EVENT));
  }

  /** Drops the events that wait, because their transaction was undone. */
  forget(): void {
    this.#waiting = [];
  }
}

function haveSameType(events: readonly SealedEvent[], from: number, count: number): boolean {
  if (from + count > events.length) return false;
  const { type, v } = events[from] as SealedEvent;
  for (let index = from + 1; index < from + count; index += 1) {
    const event = events[index] as SealedEvent;
    if (event.type !== type || event.v !== v) return false;
  }
  return true;
}
