export const journalMigration = {
  number: 1,
  name: "0001-journal",
  sql: `
-- "WRIT" in ASCII: distinguishes these files from other SQLite databases.
pragma application_id = 1465010516;

create table migration (
  number integer primary key,
  name text not null
) strict;

-- Every key starts with the tenant, so that a query without a tenant finds nothing.
create table event (
  tenant text not null,
  run text not null,
  position integer not null,
  type text not null,
  v integer not null,
  at integer not null,
  body text,
  hash blob not null,
  body_hash blob,
  primary key (tenant, run, position)
) strict, without rowid;

create table head (
  tenant text not null,
  run text not null,
  position integer not null,
  hash blob not null,
  primary key (tenant, run)
) strict, without rowid;

create table lease (
  tenant text not null,
  run text not null,
  epoch integer not null,
  worker text,
  until integer not null,
  primary key (tenant, run)
) strict, without rowid;

create table marker (
  tenant text not null,
  run text not null,
  step text not null,
  attempt integer not null,
  epoch integer not null,
  primary key (tenant, run, step, attempt)
) strict, without rowid;

create table tally (
  tenant text not null,
  tally text not null,
  used real not null,
  primary key (tenant, tally)
) strict, without rowid;

-- With a rowid, so that large values are not stored between the keys.
create table blob (
  tenant text not null,
  hash text not null,
  bytes blob not null,
  primary key (tenant, hash)
) strict;

create table run (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

create table ledger (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

create table request (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

create table gate (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

create table timer (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

create table signal (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

create table notice (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

create table project (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

create table outcome (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

create table setting (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

create index run_status on run (tenant, row ->> 'status');
create index gate_status on gate (tenant, row ->> 'status');
create index gate_run_id on gate (tenant, row ->> 'run_id');
create index notice_run_id on notice (tenant, row ->> 'run_id');
create index outcome_run_id on outcome (tenant, row ->> 'run_id');
create index outcome_reuse_key on outcome (tenant, row ->> 'reuse_key') where row ->> 'reuse_key' is not null;

-- This index does not start with the tenant, because a worker searches the due runs of all tenants.
create index timer_due_at on timer (row ->> 'due_at', tenant);
`,
};
