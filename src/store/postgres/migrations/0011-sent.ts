export const sentMigration = {
  number: 11,
  name: "0011-sent",
  sql: `
-- How many send markers each run has. A missing marker proves that a tool was not called only if the number agrees.
-- Like the markers, the numbers do not survive a crash of the server.
create unlogged table writ.sent (
  tenant text collate "C" not null,
  run text collate "C" not null,
  number bigint not null,
  primary key (tenant, run)
);
insert into writ.sent (tenant, run, number) select tenant, run, count(*) from writ.marker group by tenant, run;
alter table writ.sent enable row level security, force row level security;
create policy own_tenant on writ.sent using (tenant = current_setting('writ.tenant', true));

-- Writes send markers. A claim must be that of the head and of the lease: neither of them alone can be changed unnoticed.
drop function writ.mark(text, text[], bigint[], text[], bigint[]);
create function writ.mark(for_tenant text, c_run text[], c_worker text[], c_epoch bigint[], of_step text[], of_attempt bigint[])
returns boolean[] language plpgsql
set plan_cache_mode to 'force_generic_plan'
set enable_seqscan to 'off'
as $$
declare
  began text := writ.begin_append(for_tenant, true);
  held boolean[];
begin
  select array_agg(h.epoch is not null and l.epoch is not null order by x.n) into held
  from unnest(c_run, c_worker, c_epoch) with ordinality x (run, worker, epoch, n)
  left join lateral (
    select epoch from writ.head where tenant = for_tenant and run = x.run and epoch = x.epoch limit 1 for no key update
  ) h on true
  left join lateral (
    select epoch from writ.lease
    where tenant = for_tenant and run = x.run and worker = x.worker and epoch = x.epoch limit 1
  ) l on true;
  with written as (
    insert into writ.marker (tenant, run, step, attempt, epoch)
    select for_tenant, x.run, x.step, x.attempt, max(x.epoch)
    from unnest(c_run, of_step, of_attempt, c_epoch, held) x (run, step, attempt, epoch, held)
    where x.held group by x.run, x.step, x.attempt
    on conflict (tenant, run, step, attempt) do update set epoch = excluded.epoch
    returning run, xmax = 0 as is_new
  )
  insert into writ.sent (tenant, run, number)
  select for_tenant, w.run, count(*) from written w where w.is_new group by w.run order by w.run
  on conflict (tenant, run) do update set number = writ.sent.number + excluded.number;
  return held;
end $$;

-- A marker that is missing although the number of markers says otherwise was removed: then "whole" is false.
drop function writ.marked(text, text, text, bigint);
create function writ.marked(for_tenant text, of_run text, of_step text, of_attempt bigint)
returns table(there boolean, whole boolean, boot text) language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select exists (
      select from writ.marker m
      where m.tenant = for_tenant and m.run = of_run and m.step = of_step and m.attempt = of_attempt
    ), (
      select count(*) from writ.marker m where m.tenant = for_tenant and m.run = of_run
    ) = coalesce((select s.number from writ.sent s where s.tenant = for_tenant and s.run = of_run), 0), writ.boot_name();
end $$;

-- The claims of runs: epoch, lease, and send markers.
create function writ.claims(for_tenant text, after_run text, most bigint)
returns table(run text, epoch bigint, worker text, lease_epoch bigint, sent bigint, markers text) language plpgsql
set enable_seqscan to 'off'
as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    with runs as (
      (select h.run from writ.head h
       where h.tenant = for_tenant and h.run > after_run and h.epoch is not null order by h.run limit most)
      union
      (select l.run from writ.lease l where l.tenant = for_tenant and l.run > after_run order by l.run limit most)
      union
      (select distinct m.run from writ.marker m where m.tenant = for_tenant and m.run > after_run order by m.run limit most)
      union
      (select s.run from writ.sent s where s.tenant = for_tenant and s.run > after_run order by s.run limit most)
      order by run limit most
    )
    select r.run, h.epoch, l.worker, l.epoch, coalesce(s.number, 0), (
      select json_agg(json_build_array(m.step, m.attempt, m.epoch) order by m.step, m.attempt)::text
      from writ.marker m where m.tenant = for_tenant and m.run = r.run
    )
    from runs r
    left join writ.head h on h.tenant = for_tenant and h.run = r.run
    left join writ.lease l on l.tenant = for_tenant and l.run = r.run
    left join writ.sent s on s.tenant = for_tenant and s.run = r.run
    order by r.run;
end $$;

-- Rows with the copies of their fields that indexes and queues use.
create function writ.row_copies(for_tenant text, after_kind text, after_key text, most bigint)
returns table(kind text, key text, content text, status text, run_id text, reuse_key text, due_at text,
              at bigint, queue text, rank bigint, needs text)
language plpgsql
set enable_seqscan to 'off'
as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select r.kind, r.key, r.row, r.status, r.run_id, r.reuse_key, r.due_at, d.at, d.queue, d.rank, (
      select json_agg(json_build_array(n.need, n.queue, n.rank) order by n.need)::text
      from writ.need n where r.kind = 'timer' and n.tenant = for_tenant and n.run = r.key
    )
    from writ.rows r left join writ.due d on r.kind = 'timer' and d.tenant = for_tenant and d.run = r.key
    where r.tenant = for_tenant and (r.kind, r.key) > (after_kind, after_key)
    order by r.kind, r.key limit most;
end $$;

-- Runs in the queues that have no timer.
create function writ.untimed(for_tenant text, most bigint) returns table(run text) language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select q.run from (
      select d.run from writ.due d where d.tenant = for_tenant
      union
      select n.run from writ.need n where n.tenant = for_tenant
    ) q
    where not exists (
      select from writ.rows r where r.tenant = for_tenant and r.kind = 'timer' and r.key = q.run
    )
    order by q.run limit most;
end $$;
`,
};
