-- "WRIT": tells our files from any other SQLite database.
pragma application_id = 1465010516;

create table migration (
  number integer primary key,
  name text not null
) strict;

-- The truth. The tenant leads this and every other key, so nothing is found without naming one.
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

-- With a rowid: pages of large bytes do not belong between the keys.
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

-- The one index that the tenant does not lead: a worker asks what is due for anybody.
create index timer_due_at on timer (row ->> 'due_at', tenant);
