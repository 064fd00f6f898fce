export const postgresRunToolsMigration = {
  number: 14,
  name: "0014-run-tools",
  sql: `
-- Timer rows now contain the tools of their runs. Workers fold the runs again in pieces.
-- Forced row level security hides all rows from a plain owner.
alter table writ.rows no force row level security;
alter table writ.outdated no force row level security;
insert into writ.outdated (tenant, run)
select r.tenant, r.key from writ.rows r where r.kind = 'timer'
  and exists (select from writ.rows x where x.tenant = r.tenant and x.kind = 'run' and x.key = r.key)
on conflict do nothing;
alter table writ.rows force row level security;
alter table writ.outdated force row level security;

drop function writ.claim_some(text, bigint, bigint, bigint, text[], text[], bigint[], bigint, text[], text, text);
drop function writ.claim_due(text, bigint, bigint, bigint, text[], text[], bigint[], bigint, text[]);

-- Returns what other live workers offer and this one does not: those with these rules, or all if they are null.
create function writ.offers_elsewhere(by_worker text, of_rules text, offered text[], given_now bigint)
returns text[] language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select array_agg(distinct o.need) from writ.worker w cross join unnest(w.offers) o (need)
  where w.id <> by_worker and w.until > coalesce(given_now, writ.now_ms()) and w.rules is not null
    and (of_rules is null or w.rules = of_rules)
    -- Equal workers are compared as a whole.
    and w.offers is distinct from offered and o.need <> all (coalesce(offered, '{}'))
$$;

-- Returns whether a worker leaves a due run to others: it offers none of its tools, and one that may claim it does.
create function writ.is_left(
  of_tenant text, of_run text, its_rules text, offered text[], lacks_same text[], lacks_any text[]
)
returns boolean language sql stable as $$
  select coalesce(bool_or(t.tool = any (case when x.timer ->> 'rules' = its_rules then lacks_same else lacks_any end))
    and not bool_or(t.tool = any (coalesce(offered, '{}'))), false)
  from (select r.row::json as timer from writ.rows r
        where r.tenant = of_tenant and r.kind = 'timer' and r.key = of_run) x
  cross join lateral json_array_elements_text(x.timer -> 'tools') t (tool)
$$;

-- As in 0010-worker-rules.sql, without the runs that are left to workers with their tools.
create function writ.claim_due(
  by_worker text, most bigint, lease_ms bigint, given_now bigint,
  of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint, elsewhere text[],
  its_rules text, offered text[], lacks_same text[], lacks_any text[]
)
returns table (tenant text, run text, epoch bigint) language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_material = off
set enable_bitmapscan = off
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
        and (lacks_any is null or not writ.is_left(d.tenant, d.run, its_rules, offered, lacks_same, lacks_any))
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

create function writ.claim_some(
  by_worker text, most bigint, lease_ms bigint, given_now bigint,
  of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint, offered text[], its_rules text, its_process text
)
returns table (tenant text, run text, epoch bigint) language plpgsql as $$
declare
  elsewhere text[] := writ.note_worker(by_worker, its_rules, offered, its_process, lease_ms, given_now);
  lacks_any text[] := writ.offers_elsewhere(by_worker, null, offered, given_now);
  lacks_same text[] := case when lacks_any is null or its_rules is null then null
    else writ.offers_elsewhere(by_worker, its_rules, offered, given_now) end;
  taken bigint;
begin
  return query select c.tenant, c.run, c.epoch from writ.claim_due(
    by_worker, most, lease_ms, given_now, of_queues, l_queue, l_most, per_tenant, elsewhere,
    its_rules, offered, lacks_same, lacks_any) c;
  get diagnostics taken = row_count;
  if taken < most and offered is not null then
    return query select c.tenant, c.run, c.epoch from writ.claim_needed(
      by_worker, most - taken, lease_ms, given_now, of_queues, l_queue, l_most, per_tenant, offered, elsewhere) c;
  end if;
end $$;
`,
};
