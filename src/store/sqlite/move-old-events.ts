import type { SqliteDatabase } from "./sqlite-driver.ts";

/** The number of events that one transaction moves. */
const EVENTS_PER_PIECE = 2000;

interface OldJournal {
  readonly tenant: string;
  readonly run: string;
}

/**
 * Moves events of the older layout into the log, inside a transaction. Returns the number of rows that it moved; 0 if
 * none is left. A damaged file keeps its damage: events without a head, heads without events, and gaps.
 */
export function moveOldEvents(db: SqliteDatabase): number {
  const first = db.prepare("select tenant, run from old_event order by tenant, run limit 1");
  const moveJournal = journalMover(db);
  let moved = 0;
  while (moved < EVENTS_PER_PIECE) {
    const journal = first.get() as OldJournal | undefined;
    if (journal === undefined) break;
    moved += moveJournal(journal, EVENTS_PER_PIECE - moved);
  }
  return moved === 0 ? moveEmptyHeads(db) : moved;
}

const journal = "(select journal from event indexed by event_name where tenant = ?1 and run = ?2)";
const nextSeq = "(select coalesce(max(seq), 0) + 1 from event)";

/** Returns about how many events are left to move. */
export function countOldEvents(db: SqliteDatabase): number {
  const { events } = db.prepare("select coalesce(sum(position), 0) as events from old_head").get() as OldEventCount;
  return events;
}

interface OldEventCount {
  readonly events: number;
}

/** Makes a function that moves up to `most` events of a journal, and with the first of them the head. */
function journalMover(db: SqliteDatabase): (journal: OldJournal, most: number) => number {
  const isBegun = db.prepare("select 1 from event indexed by event_name where tenant = ?1 and run = ?2");
  const copyHead = db.prepare(
    `insert into head (tenant, run, journal, position, hash)
     select tenant, run, ${nextSeq}, position, hash from old_head where tenant = ?1 and run = ?2`,
  );
  const deleteHead = db.prepare("delete from old_head where tenant = ?1 and run = ?2");
  const copyFirst = db.prepare(
    `insert into event (journal, position, type, v, at, hash, tenant, run, body_hash, body)
     select ${nextSeq}, position, type, v, at, hash, tenant, run, body_hash, body from old_event
     where tenant = ?1 and run = ?2 order by position limit 1`,
  );
  const copyNext = db.prepare(
    `insert into event (journal, position, type, v, at, hash, body_hash, body)
     select ${journal}, position, type, v, at, hash, body_hash, body from old_event
     where tenant = ?1 and run = ?2 and position > (select max(position) from event where journal = ${journal})
     order by position limit ?3`,
  );
  const deleteCopied = db.prepare(
    `delete from old_event where tenant = ?1 and run = ?2
     and position <= (select max(position) from event where journal = ${journal})`,
  );
  return ({ tenant, run }, most) => {
    const isFirst = isBegun.get(tenant, run) === undefined;
    if (isFirst) {
      copyHead.run(tenant, run);
      deleteHead.run(tenant, run);
      copyFirst.run(tenant, run);
    }
    copyNext.run(tenant, run, isFirst ? most - 1 : most);
    return Number(deleteCopied.run(tenant, run).changes);
  };
}

/** Moves the heads without events. Their journals have negative numbers, which no event has. */
function moveEmptyHeads(db: SqliteDatabase): number {
  const copied = db.prepare(
    `insert into head (tenant, run, journal, position, hash)
     select tenant, run, -row_number() over (order by tenant, run), position, hash from old_head`,
  );
  const { changes } = copied.run();
  db.exec("delete from old_head");
  return Number(changes);
}
