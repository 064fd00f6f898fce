export const needsMigration = {
  number: 5,
  name: "0005-needs",
  sql: `
-- The needs in the timer rows: capabilities that a run requires and that not every worker has. Tenants share the index.
create table writ.need (
  tenant text collate "C" not null,
  run text collate "C" not null,
  need text collate "C" not null,
  queue text collate "C" not null,
  rank bigint not null,
  primary key (tenant, run, need)
);

create index need_of on writ.need (need, tenant, run);

alter table writ.need enable row level security, force row level security;
create policy own_tenant on writ.need using (tenant = current_setting('writ.tenant', true));
create policy claiming on writ.need to current_user using (current_setting('writ.claiming', true) = 'yes');

create function writ.note_needs() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    delete from writ.need n where n.tenant = old.tenant and n.run = old.key;
  end if;
  if tg_op <> 'DELETE' then
    -- A claim locks the head of the run, so the head must exist.
    insert into writ.head (tenant, run, position) values (new.tenant, new.key, 0) on conflict do nothing;
    insert into writ.need (tenant, run, need, queue, rank)
    select new.tenant, new.key, x.need, coalesce(new.row::json ->> 'queue', 'default'),
           -coalesce((new.row::json ->> 'priority')::bigint, 0)
    from json_array_elements_text(new.row::json -> 'needs') x (need)
    on conflict do nothing;
  end if;
  return null;
end $$;

-- The triggers skip rows without needs, which are nearly all.
create trigger needs_added after insert on writ.rows for each row
when (new.kind = 'timer' and new.row like '%"needs":%') execute function writ.note_needs();

create trigger needs_changed after update on writ.rows for each row
when (new.kind = 'timer' and (old.row like '%"needs":%' or new.row like '%"needs":%')) execute function writ.note_needs();

create trigger needs_removed after delete on writ.rows for each row
when (old.kind = 'timer' and old.row like '%"needs":%') execute function writ.note_needs();

-- Claims runs that are not due and have a need that the worker offers, in the order of claim_due. claim_due must run
-- before it in the same transaction.
create function writ.claim_needed(
  by_worker text, most bigint, lease_ms bigint, given_now bigint,
  of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint, offered text[]
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

-- Claims due runs, and then, up to the limit, runs with a need that the worker offers (null: none).
create function writ.claim_some(
  by_worker text, most bigint, lease_ms bigint, given_now bigint,
  of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint, offered text[]
)
returns table (tenant text, run text, epoch bigint) language plpgsql as $$
declare
  taken bigint;
begin
  return query select c.tenant, c.run, c.epoch
    from writ.claim_due(by_worker, most, lease_ms, given_now, of_queues, l_queue, l_most, per_tenant) c;
  get diagnostics taken = row_count;
  if taken < most and offered is not null then
    return query select c.tenant, c.run, c.epoch from writ.claim_needed(
      by_worker, most - taken, lease_ms, given_now, of_queues, l_queue, l_most, per_tenant, offered) c;
  end if;
end $$;
`,
};
