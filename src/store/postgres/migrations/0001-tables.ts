export const tablesMigration = {
  number: 1,
  name: "0001-tables",
  sql: `
create schema writ;

create table writ.migration (
  number integer primary key,
  name text not null
);

-- The head of a run and its current epoch are one row, so that one update checks both and moves the head.
-- No column that an append changes is indexed, so that the update stays within its page.
create table writ.head (
  tenant text collate "C" not null,
  run text collate "C" not null,
  position bigint not null,
  hash bytea,
  epoch bigint,
  primary key (tenant, run)
) with (fillfactor = 70);

create table writ.event (
  tenant text collate "C" not null,
  run text collate "C" not null,
  position bigint not null,
  type text not null,
  v integer not null,
  at bigint not null,
  body text,
  hash bytea not null,
  body_hash bytea,
  primary key (tenant, run, position)
);

-- Every table of core/store/tables.ts. The indexed fields are columns beside the row, as JSON, so that 6 differs from
-- "6".
create table writ.rows (
  tenant text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  version bigint not null,
  row text not null,
  status text collate "C",
  run_id text collate "C",
  reuse_key text collate "C",
  due_at text collate "C",
  primary key (tenant, kind, key)
) with (fillfactor = 70);

create index rows_status on writ.rows (tenant, kind, status, key) where status is not null;
create index rows_run_id on writ.rows (tenant, kind, run_id, key) where run_id is not null;
create index rows_reuse_key on writ.rows (tenant, kind, reuse_key, key) where reuse_key is not null;
create index rows_due_at on writ.rows (tenant, kind, due_at, key) where due_at is not null;

create table writ.tally (
  tenant text collate "C" not null,
  tally text collate "C" not null,
  used double precision not null,
  primary key (tenant, tally)
) with (fillfactor = 50);

-- A second, small copy of the timers, so that a claim does not search all rows.
create table writ.due (
  tenant text collate "C" not null,
  run text collate "C" not null,
  at bigint not null,
  queue text collate "C" not null default 'default',
  -- The lowest rank is claimed first.
  rank bigint not null default 0,
  primary key (tenant, run)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- An index across tenants, for next_due.
create index due_at on writ.due (at, tenant, run);

-- The index that a claim scans: by tenant, queue and rank, and within them the run that has been due the longest first.
create index due_turn on writ.due (tenant, queue, rank, at, run);

-- The leases of the runs that workers hold. The epoch of a released run stays in its head.
create table writ.lease (
  tenant text collate "C" not null,
  run text collate "C" not null,
  epoch bigint not null,
  worker text not null,
  until bigint not null,
  -- The worker that held the run before this claim and did not release it. A released lease is deleted.
  prior text,
  -- The time of the claim.
  since bigint not null default 0,
  primary key (tenant, run)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

create table writ.blob (
  tenant text collate "C" not null,
  hash text collate "C" not null,
  bytes bytea not null,
  primary key (tenant, hash)
);

-- Postgres empties unlogged tables when it recovers from a crash, both at once. So while the row of the boot exists,
-- every marker that was written under it exists too. The server's start time cannot replace it: it survives the crash
-- of a backend.
create unlogged table writ.marker (
  tenant text collate "C" not null,
  run text collate "C" not null,
  step text collate "C" not null,
  attempt bigint not null,
  epoch bigint not null,
  primary key (tenant, run, step, attempt)
);

create unlogged table writ.boot (
  singular boolean primary key default true check (singular),
  name text not null default gen_random_uuid()
);

-- On bodies of a few kilobytes lz4 takes a third of the time of pglz. Not every server is built with it.
do $$
begin
  alter table writ.event alter column body set compression lz4;
exception when feature_not_supported or invalid_parameter_value then null;
end $$;

do $$
declare
  name text;
begin
  foreach name in array array['head', 'event', 'rows', 'tally', 'due', 'lease', 'blob', 'marker'] loop
    execute format('alter table writ.%I enable row level security, force row level security', name);
    execute format(
      'create policy own_tenant on writ.%I using (tenant = current_setting(''writ.tenant'', true))', name);
  end loop;
  -- For claim_due and next_due, which run as the owner of these tables. 0009-plain-owner.sql changes its condition.
  foreach name in array array['head', 'due', 'lease'] loop
    execute format(
      'create policy claiming on writ.%I to current_user using (current_setting(''writ.claiming'', true) = ''yes'')', name);
  end loop;
end $$;
`,
};
