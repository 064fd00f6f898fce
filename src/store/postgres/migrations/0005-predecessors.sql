-- Who held a run before its present claim and never gave it back: a lease that is given back is deleted.
alter table writ.lease add column prior text;

create or replace function writ.claim(for_tenant text, of_run text, by_worker text, lease_ms bigint, given_now bigint)
returns bigint language plpgsql as $$
declare
  now_ms bigint := coalesce(given_now, writ.now_ms());
  held bigint;
  given bigint;
begin
  perform writ.begin_append(for_tenant, false);
  select h.epoch into held from writ.head h where h.tenant = for_tenant and h.run = of_run for no key update;
  if not found then
    insert into writ.head (tenant, run, position) values (for_tenant, of_run, 0) on conflict do nothing;
    select h.epoch into held from writ.head h where h.tenant = for_tenant and h.run = of_run for no key update;
  end if;
  insert into writ.lease as l (tenant, run, epoch, worker, until)
  values (for_tenant, of_run, coalesce(held, 0) + 1, by_worker, now_ms + lease_ms)
  on conflict (tenant, run) do update
  set epoch = excluded.epoch, worker = excluded.worker, until = excluded.until, prior = l.worker
  where l.tenant = for_tenant and (l.until <= now_ms or l.worker = excluded.worker)
  returning l.epoch into given;
  if given is not null then
    update writ.head set epoch = given where tenant = for_tenant and run = of_run;
  end if;
  return given;
end $$;

create or replace function writ.claim_due(by_worker text, most bigint, lease_ms bigint, given_now bigint)
returns table (tenant text, run text, epoch bigint) language plpgsql security definer
set search_path = pg_catalog, pg_temp set writ.claiming = 'yes'
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
as $$
declare
  now_ms bigint := coalesce(given_now, writ.now_ms());
  d_tenant text[];
  d_run text[];
  d_epoch bigint[];
begin
  perform writ.begin_append('', false);
  with free as materialized (
    select d.tenant, d.run, d.at, h.epoch from writ.due d
    join writ.head h on h.tenant = d.tenant and h.run = d.run
    left join writ.lease l on l.tenant = d.tenant and l.run = d.run
    where d.at <= now_ms and (l.until is null or l.until <= now_ms)
    order by d.at, d.tenant, d.run limit most
    for no key update of h skip locked
  )
  select array_agg(f.tenant order by f.at, f.tenant, f.run), array_agg(f.run order by f.at, f.tenant, f.run),
         array_agg(coalesce(f.epoch, 0) + 1 order by f.at, f.tenant, f.run)
  into d_tenant, d_run, d_epoch from free f;
  if d_run is null then
    return;
  end if;
  return query
    with given as (
      insert into writ.lease as l (tenant, run, epoch, worker, until)
      select x.tenant, x.run, x.epoch, by_worker, now_ms + lease_ms from unnest(d_tenant, d_run, d_epoch) x (tenant, run, epoch)
      on conflict on constraint lease_pkey do update
      set epoch = excluded.epoch, worker = excluded.worker, until = excluded.until, prior = l.worker where l.until <= now_ms
      returning l.tenant, l.run, l.epoch
    ), moved as (
      update writ.head h set epoch = g.epoch from given g where h.tenant = g.tenant and h.run = g.run
      returning h.tenant, h.run, h.epoch
    )
    select m.tenant, m.run, m.epoch from unnest(d_tenant, d_run) with ordinality x (tenant, run, n)
    join moved m on m.tenant = x.tenant and m.run = x.run order by x.n;
end $$;

create function writ.predecessor(for_tenant text, of_run text, by_worker text, under_epoch bigint)
returns text language plpgsql as $$
begin
  perform set_config('writ.tenant', for_tenant, true);
  return (select l.prior from writ.lease l
          where l.tenant = for_tenant and l.run = of_run and l.worker = by_worker and l.epoch = under_epoch);
end $$;
