export const leasesMigration = {
  number: 4,
  name: "0004-leases",
  sql: `
-- Leases expire by the server's time, or by the given time. Renewals and releases are not synced. A claim is synced: if
-- a crash of the server lost it, its epoch would be assigned again while its first holder is alive.

create function writ.now_ms() returns bigint language sql volatile as $$
  select (extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

create function writ.claim(for_tenant text, of_run text, by_worker text, lease_ms bigint, given_now bigint)
returns bigint language plpgsql as $$
declare
  began text := writ.begin_append(for_tenant, false);
  now_ms bigint := coalesce(given_now, writ.now_ms());
  held bigint;
  given bigint;
begin
  select h.epoch into held from writ.head h where h.tenant = for_tenant and h.run = of_run for no key update;
  if not found then
    insert into writ.head (tenant, run, position) values (for_tenant, of_run, 0) on conflict do nothing;
    select h.epoch into held from writ.head h where h.tenant = for_tenant and h.run = of_run for no key update;
  end if;
  insert into writ.lease as l (tenant, run, epoch, worker, until, since)
  values (for_tenant, of_run, coalesce(held, 0) + 1, by_worker, now_ms + lease_ms, now_ms)
  on conflict (tenant, run) do update
  set epoch = excluded.epoch, worker = excluded.worker, until = excluded.until, prior = l.worker, since = excluded.since
  where l.tenant = for_tenant and (l.until <= now_ms or l.worker = excluded.worker)
  returning l.epoch into given;
  if given is not null then
    update writ.head set epoch = given where tenant = for_tenant and run = of_run;
  end if;
  return given;
end $$;

-- Claims due runs of all tenants. It runs as the owner of the tables and returns only the claimed runs. Heads are
-- locked first, as everywhere; a run whose head is locked is in use and is skipped. Whether a run is free is checked
-- again after the lock.
--
-- The order is: the first run of every tenant, then the second of every tenant, and so on; within a tenant by rank,
-- then the longest due. So a tenant with ten thousand runs does not delay the others. Limits count the unexpired
-- leases; claims with limits run one after the other, claims without limits do not wait for each other.
create function writ.claim_due(
  by_worker text, most bigint, lease_ms bigint, given_now bigint,
  -- Only these queues; null: all. Then the limits of some queues, and the limit of each tenant; null: none.
  of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint
)
returns table (tenant text, run text, epoch bigint) language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
set enable_material = off set enable_bitmapscan = off
as $$
declare
  began text := writ.begin_append('', false);
  now_ms bigint := coalesce(given_now, writ.now_ms());
  limited boolean := l_queue is not null or per_tenant is not null;
  -- The number of candidates: more than wanted, because other workers are claiming some of them.
  wide bigint := case when limited then most else most * 5 end;
  -- The number of candidates per tenant, queue and rank; raised if some have fewer and others more.
  each bigint;
  is_cut boolean;
  q_room bigint[];
  d_tenant text[];
  d_run text[];
  d_epoch bigint[];
begin
  each := case when limited then wide end;
  if limited then
    perform pg_advisory_xact_lock(8247731, 0);
    select array_agg(x.most - (
      select count(*) from writ.lease l join writ.due d on d.tenant = l.tenant and d.run = l.run
      where d.queue = x.queue and l.until > now_ms) order by x.n)
    into q_room from unnest(l_queue, l_most) with ordinality x (queue, most, n);
  end if;
  loop
  with recursive place as (
    (select d.tenant, d.queue, d.rank from writ.due d order by d.tenant, d.queue, d.rank limit 1)
    union all
    select n.tenant, n.queue, n.rank from place p cross join lateral (
      select d.tenant, d.queue, d.rank from writ.due d
      where (d.tenant, d.queue, d.rank) > (p.tenant, p.queue, p.rank) order by d.tenant, d.queue, d.rank limit 1) n
  ), first as materialized (
    select p.rank, n.tenant, n.run, n.at, n.queue from place p cross join lateral (
      -- The time is compared as part of the row value, so that the planner uses index due_turn. The lease is found by
      -- its key, however few leases there are.
      select d.tenant, d.run, d.at, d.queue from writ.due d
      where d.tenant = p.tenant and d.queue = p.queue and d.rank = p.rank
        and (d.tenant, d.queue, d.rank, d.at) <= (p.tenant, p.queue, p.rank, now_ms)
        and coalesce((select l.until from writ.lease l where l.tenant = d.tenant and l.run = d.run), 0) <= now_ms
      order by d.at, d.run limit coalesce(each, (select wide / greatest(count(*), 1) + 1 from place))) n
    where (of_queues is null or p.queue = any (of_queues))
      and coalesce(q_room[array_position(l_queue, p.queue)], 1) > 0
  ), able as materialized (
    -- A run whose queue is full does not use a turn of its tenant.
    select f.*, row_number() over (partition by f.tenant, f.queue order by f.rank, f.at, f.run) as k from first f
  ), turn as materialized (
    select f.*, row_number() over (partition by f.tenant order by f.rank, f.at, f.run) as n from able f
    where f.k <= coalesce(q_room[array_position(l_queue, f.queue)], f.k)
    order by n, f.at, f.tenant, f.run limit case when limited then null else wide end
  ), room as materialized (
    select t.tenant, per_tenant - (
      select count(*) from writ.lease l where l.tenant = t.tenant and l.until > now_ms) as remaining
    from (select distinct x.tenant from turn x) t where per_tenant is not null
  ), fair as materialized (
    -- Applies the limits of tenant and queue; a queue serves runs in the order of turns.
    select t.tenant, t.run, t.at, t.n, t.queue, row_number() over (partition by t.queue order by t.n, t.at, t.tenant, t.run) as q
    from turn t left join room r on r.tenant = t.tenant
    where not limited or (t.n <= most and t.n <= coalesce(r.remaining, most))
  ), free as materialized (
    select f.tenant, f.run, f.at, f.n, h.epoch from fair f
    join writ.head h on h.tenant = f.tenant and h.run = f.run
    where f.q <= coalesce(q_room[array_position(l_queue, f.queue)], f.q)
    order by f.n, f.at, f.tenant, f.run limit most
    for no key update of h skip locked
  )
  select array_agg(f.tenant order by f.n, f.at, f.tenant, f.run), array_agg(f.run order by f.n, f.at, f.tenant, f.run),
         array_agg(coalesce(f.epoch, 0) + 1 order by f.n, f.at, f.tenant, f.run),
         (select max(x.count) >= coalesce(each, (select wide / greatest(count(*), 1) + 1 from place))
          from (select count(*) from first y group by y.tenant, y.queue, y.rank) x)
  into d_tenant, d_run, d_epoch, is_cut from free f;
  exit when each >= wide or is_cut is not true or cardinality(d_run) >= most;
  each := wide;
  end loop;
  if d_run is null then
    return;
  end if;
  return query
    with given as (
      insert into writ.lease as l (tenant, run, epoch, worker, until, since)
      select x.tenant, x.run, x.epoch, by_worker, now_ms + lease_ms, now_ms
      from unnest(d_tenant, d_run, d_epoch) x (tenant, run, epoch)
      on conflict on constraint lease_pkey do update
      set epoch = excluded.epoch, worker = excluded.worker, until = excluded.until, prior = l.worker, since = excluded.since where l.until <= now_ms
      returning l.tenant, l.run, l.epoch
    ), moved as (
      update writ.head h set epoch = g.epoch from given g where h.tenant = g.tenant and h.run = g.run
      returning h.tenant, h.run, h.epoch
    )
    select m.tenant, m.run, m.epoch from unnest(d_tenant, d_run) with ordinality x (tenant, run, n)
    join moved m on m.tenant = x.tenant and m.run = x.run order by x.n;
end $$;

-- Returns the server's time and the next due time of any run, without naming the run or its tenant.
create function writ.next_due(given_now bigint) returns table (now_ms bigint, due bigint) language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  now_ms := coalesce(given_now, writ.now_ms());
  select d.at into due from writ.due d where d.at > now_ms order by d.at limit 1;
  return next;
end $$;

-- Returns the numbers of the lost claims. The claims are sorted by tenant and run, so that concurrent renewals cannot
-- deadlock.
create function writ.renew(
  c_tenant text[], c_run text[], c_worker text[], c_epoch bigint[], lease_ms bigint, given_now bigint
) returns bigint[] language plpgsql set enable_seqscan = off as $$
declare
  began text := set_config('synchronous_commit', 'off', true);
  lost bigint[] := '{}';
begin
  for i in 1 .. cardinality(c_run) loop
    began := set_config('writ.tenant', c_tenant[i], true);
    update writ.lease set until = coalesce(given_now, writ.now_ms()) + lease_ms
    where tenant = c_tenant[i] and run = c_run[i] and worker = c_worker[i] and epoch = c_epoch[i];
    if not found then
      lost := lost || i::bigint;
    end if;
  end loop;
  return lost;
end $$;

create function writ.predecessor(for_tenant text, of_run text, by_worker text, under_epoch bigint)
returns text language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return (select l.prior from writ.lease l
          where l.tenant = for_tenant and l.run = of_run and l.worker = by_worker and l.epoch = under_epoch);
end $$;

-- The claims are sorted by run.
create function writ.release(for_tenant text, c_run text[], c_worker text[], c_epoch bigint[])
returns void language plpgsql set enable_seqscan = off as $$
declare
  began text := writ.begin_append(for_tenant, true);
begin
  for i in 1 .. cardinality(c_run) loop
    delete from writ.lease where tenant = for_tenant and run = c_run[i] and worker = c_worker[i] and epoch = c_epoch[i];
  end loop;
end $$;

-- Writes send markers, sorted by run, and returns whether each was written. Each head is locked, so that a claim either
-- comes before the marker or sees it.
create function writ.mark(for_tenant text, c_run text[], c_epoch bigint[], of_step text[], of_attempt bigint[])
returns boolean[] language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  began text := writ.begin_append(for_tenant, true);
  held boolean[];
begin
  select array_agg(h.epoch is not null order by x.n) into held
  from unnest(c_run, c_epoch) with ordinality x (run, epoch, n)
  left join lateral (
    select epoch from writ.head where tenant = for_tenant and run = x.run and epoch = x.epoch limit 1 for no key update
  ) h on true;
  insert into writ.marker (tenant, run, step, attempt, epoch)
  select for_tenant, x.run, x.step, x.attempt, max(x.epoch)
  from unnest(c_run, of_step, of_attempt, c_epoch, held) x (run, step, attempt, epoch, held)
  where x.held group by x.run, x.step, x.attempt
  on conflict (tenant, run, step, attempt) do update set epoch = excluded.epoch;
  return held;
end $$;

-- Returns whether the marker exists, and the current boot.
create function writ.marked(for_tenant text, of_run text, of_step text, of_attempt bigint)
returns table (there boolean, boot text) language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select exists (
      select from writ.marker m
      where m.tenant = for_tenant and m.run = of_run and m.step = of_step and m.attempt = of_attempt
    ), writ.boot_name();
end $$;

-- Returns a name that changes with each start of the server, each database, and each crash recovery.
create function writ.boot_name() returns text language plpgsql as $$
begin
  if not exists (select from writ.boot) then
    perform set_config('synchronous_commit', 'off', true);
    insert into writ.boot default values on conflict do nothing;
  end if;
  return (select format('%s %s %s', b.name, d.oid, extract(epoch from pg_postmaster_start_time()))
          from writ.boot b, pg_catalog.pg_database d where d.datname = current_database());
end $$;

-- Notifies listeners that process who has written. It is a separate transaction because transactions that notify
-- commit one after the other.
create function writ.tell(who text) returns void language plpgsql as $$
begin
  perform pg_notify('writ', who);
end $$;

-- Lists the unexpired leases of a tenant.
create function writ.holdings(for_tenant text, after_run text, most bigint, given_now bigint)
returns table (run text, worker text, epoch bigint, queue text, since bigint, until bigint) language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select l.run, l.worker, l.epoch, d.queue, l.since, l.until from writ.lease l
    left join writ.due d on d.tenant = for_tenant and d.run = l.run
    where l.tenant = for_tenant and l.run > after_run and l.until > coalesce(given_now, writ.now_ms())
    order by l.run limit most;
end $$;
`,
};
