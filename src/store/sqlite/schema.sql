CREATE TABLE blob (
  tenant text not null,
  hash text not null,
  bytes blob not null,
  primary key (tenant, hash)
) strict;

CREATE TABLE doubt (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE TABLE event (
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

CREATE INDEX event_name on event (tenant, run) where tenant is not null;

CREATE TABLE gate (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE TABLE head (
  tenant text not null,
  run text not null,
  journal integer not null,
  position integer not null,
  hash blob not null,
  primary key (tenant, run)
) strict, without rowid;

CREATE TABLE lease (
  tenant text not null,
  run text not null,
  epoch integer not null,
  worker text,
  prior text, since integer not null default 0, wanted text,
  primary key (tenant, run)
) strict, without rowid;

CREATE INDEX lease_wanted on lease (wanted) where wanted is not null;

CREATE INDEX lease_worker on lease (worker) where worker is not null;

CREATE TABLE ledger (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE TABLE marker (
  tenant text not null,
  run text not null,
  step text not null,
  attempt integer not null,
  epoch integer not null,
  primary key (tenant, run, step, attempt)
) strict, without rowid;

CREATE TABLE migration (
  number integer primary key,
  name text not null
) strict;

CREATE TABLE notice (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE INDEX notice_run_id on notice (tenant, row ->> 'run_id');

CREATE TABLE outcome (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE INDEX outcome_reuse_key on outcome (tenant, row ->> 'reuse_key') where row ->> 'reuse_key' is not null;

CREATE TABLE outdated (
  tenant text not null,
  run text not null,
  primary key (tenant, run)
) strict, without rowid;

CREATE TABLE project (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE TABLE request (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE TABLE run (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE TABLE sent (
  tenant text not null,
  run text not null,
  number integer not null,
  primary key (tenant, run)
) strict, without rowid;

CREATE TABLE setting (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE TABLE signal (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE TABLE tag (
  tenant text not null,
  kind text not null,
  tag text not null,
  key text not null,
  primary key (tenant, kind, tag, key)
) strict, without rowid;

CREATE TABLE tally (
  tenant text not null,
  tally text not null,
  used real not null,
  primary key (tenant, tally)
) strict, without rowid;

CREATE TABLE timer (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

CREATE INDEX timer_needs on timer (row ->> 'needs') where row ->> 'needs' is not null;

CREATE INDEX timer_place on timer (tenant, coalesce(row ->> 'queue', 'default'), -coalesce(row ->> 'priority', 0), row ->> 'due_at')
where row ->> 'due_at' is not null;

CREATE TABLE worker (
  id text primary key,
  boot text not null,
  pid integer not null,
  version text not null,
  rules text,
  offers text,
  beat integer not null
) strict, without rowid;
