export const workerRulesMigration = {
  number: 10,
  name: "0010-worker-rules",
  sql: `
-- The live workers and the digests of their rules. A worker does not claim a run whose rules another live worker has.
create table writ.worker (
  id text collate "C" primary key,
  rules text collate "C" not null,
  until bigint not null
);

create policy claiming_rules on writ.rows for select to current_user
using (kind = 'timer' and current_setting('search_path') = 'pg_catalog, pg_temp');

drop function writ.claim_some(text, bigint, bigint, bigint, text[], text[], bigint[], bigint, text[]);
drop function writ.claim_needed(text, bigint, bigint, bigint, text[], text[], bigint[], bigint, text[]);
drop function writ.claim_due(text, bigint, bigint, bigint, text[], text[], bigint[], bigint);

-- Registers a worker until its lease would expire, and returns the rules of other live workers that it does not have.
-- The row is written only if half of that time has passed. Rows of workers that are gone are removed on the way.
create function writ.note_worker(by_worker text, its_rules text, lease_ms bigint, given_now bigint)
returns text[] language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  now_ms bigint := coalesce(given_now, writ.now_ms());
begin
  if its_rules is not null then
    insert into writ.worker as w (id, rules, until) values (by_worker, its_rules, now_ms + lease_ms)
    on conflict (id) do update set rules = excluded.rules, until = excluded.until
    where w.until < now_ms + lease_ms / 2 or w.rules <> excluded.rules;
    if found then
      delete from writ.worker w where w.until < now_ms - 10 * lease_ms;
    end if;
  end if;
  return (select array_agg(distinct w.rules) from writ.worker w
          where w.until > now_ms and w.rules is distinct from its_rules);
end $$;

create function writ.forget_worker(by_worker text) returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from writ.worker w where w.id = by_worker;
end $$;

create function writ.rules_of(of_tenant text, of_run text) returns text language sql stable as $$
  select r.row::json ->> 'rules' from writ.rows r where r.tenant = of_tenant and r.kind = 'timer' and r.key = of_run
$$;

-- As in 0004-leases.sql, without the runs of other workers' rules.
create function writ.claim_due(
  by_worker text, most bigint, lease_ms bigint, given_now bigint,
  -- Only these queues; null: all. Then the limits of some queues, and the limit of each tenant; null: none.
  of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint,
  -- The rules of other live workers; null: there are none. Runs with these rules are not claimed.
  elsewhere text[]
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
        and (elsewhere is null or writ.rules_of(d.tenant, d.run) is null or writ.rules_of(d.tenant, d.run) <> all (elsewhere))
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

-- As in 0005-needs.sql, without the runs of other workers' rules.
create function writ.claim_needed(
  by_worker text, most bigint, lease_ms bigint, given_now bigint,
  of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint, offered text[], elsewhere text[]
)
returns table (tenant text, run text, epoch bigint) language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
set enable_material = off set enable_bitmapscan = off
as $$
declare
  now_ms bigint := coalesce(given_now, writ.now_ms());
  d_tenant text[];
  d_run text[];
  d_epoch bigint[];
begin
  with waiting as materialized (
    select distinct x.tenant, x.run, x.queue, x.rank from unnest(offered) o (need)
    join writ.need x on x.need = o.need
    where not exists (select from writ.due d where d.tenant = x.tenant and d.run = x.run and d.at <= now_ms)
      and coalesce((select l.until from writ.lease l where l.tenant = x.tenant and l.run = x.run), 0) <= now_ms
      and (elsewhere is null or writ.rules_of(x.tenant, x.run) is null or writ.rules_of(x.tenant, x.run) <> all (elsewhere))
  ), served as materialized (
    select w.*, case when w.queue = any (l_queue) then l_most[array_position(l_queue, w.queue)] - (
      select count(*) from writ.lease l join writ.due d on d.tenant = l.tenant and d.run = l.run
      where d.queue = w.queue and l.until > now_ms) end as q_room
    from waiting w where of_queues is null or w.queue = any (of_queues)
  ), able as materialized (
    -- A run whose queue is full does not use a turn of its tenant.
    select s.*, row_number() over (partition by s.tenant, s.queue order by s.rank, s.run) as k from served s
  ), turn as materialized (
    select s.*, row_number() over (partition by s.tenant order by s.rank, s.run) as n
    from able s where s.k <= coalesce(s.q_room, s.k)
  ), fair as materialized (
    select t.*, row_number() over (partition by t.queue order by t.n, t.tenant, t.run) as q from turn t
    where t.n <= most and t.n <= coalesce(per_tenant - (
      select count(*) from writ.lease l where l.tenant = t.tenant and l.until > now_ms), most)
  ), free as materialized (
    select f.tenant, f.run, f.n, h.epoch from fair f
    join writ.head h on h.tenant = f.tenant and h.run = f.run
    where f.q <= coalesce(f.q_room, f.q)
    order by f.n, f.tenant, f.run limit most
    for no key update of h skip locked
  )
  select array_agg(f.tenant order by f.n, f.tenant, f.run), array_agg(f.run order by f.n, f.tenant, f.run),
         array_agg(coalesce(f.epoch, 0) + 1 order by f.n, f.tenant, f.run)
  into d_tenant, d_run, d_epoch from free f;
  if d_run is null then
    return;
  end if;
  return query
    with given as (
      insert into writ.lease as l (tenant, run, epoch, worker, until, since)
      select x.tenant, x.run, x.epoch, by_worker, now_ms + lease_ms, now_ms
      from unnest(d_tenant, d_run, d_epoch) x (tenant, run, epoch)
      on conflict on constraint lease_pkey do update
      set epoch = excluded.epoch, worker = excluded.worker, until = excluded.until, prior = l.worker, since = excluded.since
      where l.until <= now_ms
      returning l.tenant, l.run, l.epoch
    ), moved as (
      update writ.head h set epoch = g.epoch from given g where h.tenant = g.tenant and h.run = g.run
      returning h.tenant, h.run, h.epoch
    )
    select m.tenant, m.run, m.epoch from unnest(d_tenant, d_run) with ordinality x (tenant, run, n)
    join moved m on m.tenant = x.tenant and m.run = x.run order by x.n;
end $$;

create function writ.claim_some(
  by_worker text, most bigint, lease_ms bigint, given_now bigint,
  of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint, offered text[], its_rules text
)
returns table (tenant text, run text, epoch bigint) language plpgsql as $$
declare
  elsewhere text[] := writ.note_worker(by_worker, its_rules, lease_ms, given_now);
  taken bigint;
begin
  return query select c.tenant, c.run, c.epoch
    from writ.claim_due(by_worker, most, lease_ms, given_now, of_queues, l_queue, l_most, per_tenant, elsewhere) c;
  get diagnostics taken = row_count;
  if taken < most and offered is not null then
    return query select c.tenant, c.run, c.epoch from writ.claim_needed(
      by_worker, most - taken, lease_ms, given_now, of_queues, l_queue, l_most, per_tenant, offered, elsewhere) c;
  end if;
end $$;
`,
};
