-- Leases are judged by the server's time, or by the one that is given, and are never synced; but a claim is: an epoch that a
-- crash of the server takes back would be given out again while its first holder still lives.

create function writ.now_ms() returns bigint language sql volatile as $$
  select (extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

create function writ.claim(for_tenant text, of_run text, by_worker text, lease_ms bigint, given_now bigint)
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
  on conflict (tenant, run) do update set epoch = excluded.epoch, worker = excluded.worker, until = excluded.until
  where l.tenant = for_tenant and (l.until <= now_ms or l.worker = excluded.worker)
  returning l.epoch into given;
  if given is not null then
    update writ.head set epoch = given where tenant = for_tenant and run = of_run;
  end if;
  return given;
end $$;

-- The one call across tenants. It runs as the owner of the tables and tells only what was claimed. Heads are locked first, as
-- everywhere; one that is locked is moving and left alone. What was free before the lock is looked at again after it.
create function writ.claim_due(by_worker text, most bigint, lease_ms bigint, given_now bigint)
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
      set epoch = excluded.epoch, worker = excluded.worker, until = excluded.until where l.until <= now_ms
      returning l.tenant, l.run, l.epoch
    ), moved as (
      update writ.head h set epoch = g.epoch from given g where h.tenant = g.tenant and h.run = g.run
      returning h.tenant, h.run, h.epoch
    )
    select m.tenant, m.run, m.epoch from unnest(d_tenant, d_run) with ordinality x (tenant, run, n)
    join moved m on m.tenant = x.tenant and m.run = x.run order by x.n;
end $$;

-- The server's time and the next moment at which a run of any tenant falls due, and nothing of whose.
create function writ.next_due(given_now bigint) returns table (now_ms bigint, due bigint) language plpgsql security definer
set search_path = pg_catalog, pg_temp set writ.claiming = 'yes' set enable_seqscan = off
as $$
begin
  now_ms := coalesce(given_now, writ.now_ms());
  select d.at into due from writ.due d where d.at > now_ms order by d.at limit 1;
  return next;
end $$;

-- Answers with the numbers of the claims that are lost. Claims come in the order of their tenants.
create function writ.renew(
  c_tenant text[], c_run text[], c_worker text[], c_epoch bigint[], lease_ms bigint, given_now bigint
) returns bigint[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
as $$
declare
  for_tenant text;
  kept bigint[];
  all_kept bigint[] := '{}';
begin
  perform set_config('synchronous_commit', 'off', true);
  for for_tenant in select distinct x.tenant from unnest(c_tenant) x (tenant) order by x.tenant loop
    perform set_config('writ.tenant', for_tenant, true);
    with renewed as (
      update writ.lease l set until = coalesce(given_now, writ.now_ms()) + lease_ms
      from unnest(c_tenant, c_run, c_worker, c_epoch) with ordinality x (tenant, run, worker, epoch, n)
      where l.tenant = for_tenant and x.tenant = for_tenant and l.run = x.run and l.worker = x.worker and l.epoch = x.epoch
      returning x.n
    )
    select array_agg(r.n) into kept from renewed r;
    all_kept := all_kept || kept;
  end loop;
  return array(select n from generate_series(1, cardinality(c_run)) n where n <> all (all_kept) order by n);
end $$;

create function writ.release(for_tenant text, of_run text, by_worker text, under_epoch bigint) returns void language plpgsql as $$
begin
  perform writ.begin_append(for_tenant, true);
  delete from writ.lease where tenant = for_tenant and run = of_run and worker = by_worker and epoch = under_epoch;
end $$;

-- The head is locked, so that a claim comes before this marker or sees it.
create function writ.mark(for_tenant text, of_run text, under_epoch bigint, of_step text, of_attempt bigint)
returns boolean language plpgsql as $$
begin
  perform writ.begin_append(for_tenant, true);
  perform 1 from writ.head where tenant = for_tenant and run = of_run and epoch = under_epoch for no key update;
  if not found then
    return false;
  end if;
  insert into writ.marker (tenant, run, step, attempt, epoch) values (for_tenant, of_run, of_step, of_attempt, under_epoch)
  on conflict (tenant, run, step, attempt) do update set epoch = excluded.epoch;
  return true;
end $$;

-- With the boot it was looked up under.
create function writ.marked(for_tenant text, of_run text, of_step text, of_attempt bigint)
returns table (there boolean, boot text) language plpgsql as $$
begin
  perform set_config('writ.tenant', for_tenant, true);
  return query
    select exists (
      select from writ.marker m
      where m.tenant = for_tenant and m.run = of_run and m.step = of_step and m.attempt = of_attempt
    ), writ.boot_name();
end $$;

-- Of this start of the server, of this database, and of the time since its last crash.
create function writ.boot_name() returns text language plpgsql as $$
begin
  if not exists (select from writ.boot) then
    perform set_config('synchronous_commit', 'off', true);
    insert into writ.boot default values on conflict do nothing;
  end if;
  return (select format('%s %s %s', b.name, d.oid, extract(epoch from pg_postmaster_start_time()))
          from writ.boot b, pg_catalog.pg_database d where d.datname = current_database());
end $$;

-- A hint that something was written, and by whom. In a transaction of its own: those that notify commit one after the other.
create function writ.tell(who text) returns void language plpgsql as $$
begin
  perform pg_notify('writ', who);
end $$;
