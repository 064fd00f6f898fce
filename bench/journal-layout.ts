import type { SealedEvent } from "../src/core/store/store.ts";
import type { SqliteDatabase } from "../src/store/sqlite/sqlite-driver.ts";

/** How events are stored: a table in the order of the runs, or the log of the store in the order of the appends. */
export type JournalLayout = "clustered" | "log";

/** Writes events and heads without any check. */
export interface RawJournal {
  insertEvent(tenant: string, run: string, event: SealedEvent): void;
  insertHead(tenant: string, run: string, event: SealedEvent): void;
  updateHead(tenant: string, run: string, event: SealedEvent): void;
}

/** Prepares the writes of a layout in the file of a store. The head of a run is written before its first event. */
export function prepareJournal(db: SqliteDatabase, layout: JournalLayout): RawJournal {
  return layout === "log" ? logJournal(db) : clusteredJournal(db);
}

function clusteredJournal(db: SqliteDatabase): RawJournal {
  db.exec(`
    create table clustered_event (tenant text not null, run text not null, position integer not null,
      type text not null, v integer not null, at integer not null, body text, hash blob not null, body_hash blob,
      primary key (tenant, run, position)) strict, without rowid;
    create table clustered_head (tenant text not null, run text not null, position integer not null,
      hash blob not null, primary key (tenant, run)) strict, without rowid`);
  const event = db.prepare(
    "insert into clustered_event (tenant, run, position, type, v, at, body, hash) values (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const head = db.prepare("insert into clustered_head (position, hash, tenant, run) values (?, ?, ?, ?)");
  const moved = db.prepare("update clustered_head set position = ?, hash = ? where tenant = ? and run = ?");
  return {
    insertEvent: (tenant, run, { position, type, v, at, body, hash }) =>
      void event.run(tenant, run, position, type, v, at, body, hash),
    insertHead: (tenant, run, { position, hash }) => void head.run(position, hash, tenant, run),
    updateHead: (tenant, run, { position, hash }) => void moved.run(position, hash, tenant, run),
  };
}

function logJournal(db: SqliteDatabase): RawJournal {
  const event = db.prepare(
    `insert into event (journal, type, v, position, at, body, hash)
     values ((select journal from head where tenant = ?1 and run = ?2), ?3, ?, ?, ?, ?, ?)`,
  );
  const head = db.prepare(
    `insert into head (position, hash, tenant, run, journal)
     values (?, ?, ?, ?, (select coalesce(max(seq), 0) + 1 from event))`,
  );
  const moved = db.prepare("update head set position = ?, hash = ? where tenant = ? and run = ?");
  return {
    insertEvent: (tenant, run, { position, type, v, at, body, hash }) =>
      void event.run(tenant, run, type, v, position, at, body, hash),
    insertHead: (tenant, run, { position, hash }) => void head.run(position, hash, tenant, run),
    updateHead: (tenant, run, { position, hash }) => void moved.run(position, hash, tenant, run),
  };
}
