export const eventLogMigration = {
  number: 8,
  name: "0008-event-log",
  sql: `
-- The rows of the older layout. The next migration moves them.
alter table event rename to old_event;
alter table head rename to old_head;

-- A log of the events of all runs in the order of their appends. Concurrent runs write to the same pages.
create table event (
  seq integer primary key,
  journal integer not null,
  position integer not null,
  type text not null,
  v integer not null,
  at integer not null,
  hash blob not null,
  -- Only the first event of a journal has the names, so that the journal is found without its head.
  tenant text,
  run text,
  body_hash blob,
  body text,
  unique (journal, position)
) strict;

create index event_name on event (tenant, run) where tenant is not null;

-- The journal is the seq of its first event.
create table head (
  tenant text not null,
  run text not null,
  journal integer not null,
  position integer not null,
  hash blob not null,
  primary key (tenant, run)
) strict, without rowid;
`,
};
