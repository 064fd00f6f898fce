-- Queues: each due run stands in one, with a rank in it (the lowest first), and is claimed in turn with those of other tenants.

alter table writ.due add column queue text collate "C" not null default 'default', add column rank bigint not null default 0;

-- What a claim walks along: from tenant to tenant, queue to queue and rank to rank, and in each to what has been due the longest.
create index due_turn on writ.due (tenant, queue, rank, at, run);

-- When it was claimed.
alter table writ.lease add column since bigint not null default 0;

-- As it was, and with the queue and the rank of what falls due.
drop function writ.append(text, boolean, text[], bigint[], bigint[], bigint[], bytea[], integer[], bigint[], text[], integer[], bigint[], text[], bytea[], text[], text[], boolean[], integer[], integer[], bigint[], integer[], integer[], bigint[], text[], text[], text[], text[], text[], bigint[], text[], integer[], integer[], double precision[], double precision[]);

create function writ.append(
  for_tenant text, is_soft boolean,
  e_run text[], e_position bigint[], e_epoch bigint[], e_head bigint[], e_hash bytea[],
  v_entry integer[], v_position bigint[], v_type text[], v_v integer[], v_at bigint[], v_body text[], v_hash bytea[],
  -- The keys that are put or checked, in order, each once; conditions, puts and charges count entries, keys and tallies from 1.
  k_kind text[], k_key text[], k_put boolean[],
  c_entry integer[], c_key integer[], c_was bigint[],
  p_entry integer[], p_key integer[], p_version bigint[], p_row text[],
  p_status text[], p_run_id text[], p_reuse_key text[], p_due_at text[], p_due bigint[], p_queue text[], p_rank bigint[],
  t_tally text[], g_entry integer[], g_tally integer[], g_amount double precision[], g_limit double precision[]
) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
as $$
declare
  ok boolean[];
  h_position bigint[];
  h_epoch bigint[];
  k_version bigint[];
  k_row text[];
  k_new boolean[];
  t_used double precision[];
  t_there boolean[];
  t_charged boolean[];
  trial double precision[];
  refused jsonb := '{}';
  facts jsonb;
  entry integer;
  i integer := 1;
  added integer := 0;
  changed integer := 0;
  removed integer := 0;
  timed boolean := false;
  guarded integer[] := '{}';
  wanted bigint;
  done bigint;
begin
  perform writ.begin_append(for_tenant, is_soft);

  -- Events alone: the update is judge, lock and write.
  if k_key is null and t_tally is null and 0 < all (e_position) and array_position(e_hash, null) is null then
    with moved as (
      update writ.head h set position = x.head, hash = x.hash
      from unnest(e_run, e_position, e_epoch, e_head, e_hash) with ordinality x (run, position, epoch, head, hash, n)
      where h.tenant = for_tenant and h.run = x.run and h.position = x.position and (x.epoch is null or h.epoch = x.epoch)
      returning x.n
    )
    select array_agg(e.n in (select m.n from moved m) order by e.n) into ok
    from generate_series(1, cardinality(e_run)) e (n);
    insert into writ.event (tenant, run, position, type, v, at, body, hash)
    select for_tenant, e_run[x.entry], x.position, x.type, x.v, x.at, x.body, x.hash
    from unnest(v_entry, v_position, v_type, v_v, v_at, v_body, v_hash) x (entry, position, type, v, at, body, hash)
    where ok[x.entry];
    return writ.append_facts(for_tenant, e_run, e_position, ok, null, null, null, refused);
  end if;

  -- Judged: only locks are taken.
  select array_agg(h.position order by x.n), array_agg(h.epoch order by x.n),
         array_agg(coalesce(h.position, 0) = x.position and (x.epoch is null or coalesce(h.epoch = x.epoch, false)) order by x.n)
  into h_position, h_epoch, ok
  from unnest(e_run, e_position, e_epoch) with ordinality x (run, position, epoch, n)
  left join lateral (
    select position, epoch from writ.head where tenant = for_tenant and run = x.run limit 1 for no key update
  ) h on true;

  if k_key is not null then
    select array_agg(coalesce(p.version, c.version) order by x.n), array_agg(coalesce(p.row, c.row) order by x.n)
    into k_version, k_row
    from unnest(k_kind, k_key, k_put) with ordinality x (kind, key, put, n)
    left join lateral (
      select version, row from writ.rows
      where x.put and tenant = for_tenant and kind = x.kind and key = x.key limit 1 for no key update
    ) p on true
    left join lateral (
      select version, row from writ.rows
      where not x.put and tenant = for_tenant and kind = x.kind and key = x.key limit 1 for share
    ) c on true;
    for i in 1 .. coalesce(cardinality(c_entry), 0) loop
      if k_version[c_key[i]] is distinct from c_was[i] then
        ok[c_entry[i]] := false;
      end if;
    end loop;
  end if;

  if t_tally is not null then
    select array_agg(coalesce(u.used, 0) order by x.n), array_agg(u.used is not null order by x.n), array_agg(false)
    into t_used, t_there, t_charged
    from unnest(t_tally) with ordinality x (tally, n)
    left join lateral (
      select used from writ.tally where tenant = for_tenant and tally = x.tally limit 1 for no key update
    ) u on true;
    i := 1;
    while i <= cardinality(g_entry) loop
      entry := g_entry[i];
      trial := t_used;
      while g_entry[i] = entry loop
        if ok[entry] and trial[g_tally[i]] + g_amount[i] > g_limit[i] then
          ok[entry] := false;
          refused := refused || jsonb_build_object(entry::text, to_jsonb(t_used));
        end if;
        trial[g_tally[i]] := trial[g_tally[i]] + g_amount[i];
        i := i + 1;
      end loop;
      if ok[entry] then
        t_used := trial;
      end if;
    end loop;
    for i in 1 .. cardinality(g_entry) loop
      t_charged[g_tally[i]] := t_charged[g_tally[i]] or ok[g_entry[i]];
    end loop;
  end if;

  facts := writ.append_facts(for_tenant, e_run, e_position, ok, k_version, k_row, array(
    select distinct x.key from unnest(c_entry, c_key) x (entry, key) where not ok[x.entry]), refused);

  -- Written.
  update writ.head h set position = x.head, hash = x.hash
  from unnest(e_run, e_head, e_hash, ok, h_position) x (run, head, hash, ok, found)
  where x.ok and x.hash is not null and x.found is not null and h.tenant = for_tenant and h.run = x.run;

  select count(*) into wanted from unnest(ok, h_position) x (ok, found) where x.ok and x.found is null;
  if wanted > 0 then
    insert into writ.head (tenant, run, position, hash)
    select for_tenant, x.run, x.head, x.hash
    from unnest(e_run, e_head, e_hash, ok, h_position) with ordinality x (run, head, hash, ok, found, n)
    where x.ok and x.found is null order by x.n
    on conflict do nothing;
    get diagnostics done = row_count;
    if done < wanted then
      raise exception 'a run began meanwhile' using errcode = '40001';
    end if;
  end if;

  if k_key is not null then
    k_new := array_fill(false, array[cardinality(k_key)]);
    for i in 1 .. coalesce(cardinality(p_entry), 0) loop
      if ok[p_entry[i]] then
        if p_row[i] is null then
          removed := removed + 1;
        elsif k_version[p_key[i]] is null then
          added := added + 1;
          k_new[p_key[i]] := true;
        else
          changed := changed + 1;
        end if;
        timed := timed or k_kind[p_key[i]] = 'timer';
      end if;
    end loop;
    -- Absent is a promise until the commit: the key is taken, and given back before anyone can see it.
    for i in 1 .. coalesce(cardinality(c_entry), 0) loop
      if c_was[i] is null and ok[c_entry[i]] and not k_new[c_key[i]] then
        k_new[c_key[i]] := true;
        guarded := guarded || c_key[i];
      end if;
    end loop;
    if removed > 0 then
      delete from writ.rows r using unnest(p_entry, p_key, p_row) x (entry, key, row)
      where ok[x.entry] and x.row is null and r.tenant = for_tenant and r.kind = k_kind[x.key] and r.key = k_key[x.key];
    end if;
    if changed > 0 then
      update writ.rows r set version = x.version, row = x.row, status = x.status, run_id = x.run_id,
             reuse_key = x.reuse_key, due_at = x.due_at
      from unnest(p_entry, p_key, p_version, p_row, p_status, p_run_id, p_reuse_key, p_due_at)
           x (entry, key, version, row, status, run_id, reuse_key, due_at)
      where ok[x.entry] and x.row is not null and k_version[x.key] is not null
        and r.tenant = for_tenant and r.kind = k_kind[x.key] and r.key = k_key[x.key];
    end if;
  end if;

  if t_tally is not null then
    update writ.tally u set used = x.used
    from unnest(t_tally, t_used, t_there, t_charged) x (tally, used, there, charged)
    where x.there and x.charged and u.tenant = for_tenant and u.tally = x.tally;
  end if;

  if added + cardinality(guarded) > 0 then
    insert into writ.rows (tenant, kind, key, version, row, status, run_id, reuse_key, due_at)
    select for_tenant, k_kind[x.key], k_key[x.key], x.version, x.row, x.status, x.run_id, x.reuse_key, x.due_at
    from (
      select p.entry, p.key, p.version, p.row, p.status, p.run_id, p.reuse_key, p.due_at
      from unnest(p_entry, p_key, p_version, p_row, p_status, p_run_id, p_reuse_key, p_due_at)
           p (entry, key, version, row, status, run_id, reuse_key, due_at)
      where ok[p.entry] and p.row is not null and k_version[p.key] is null
      union all
      select null, g.key, 0, '', null, null, null, null from unnest(guarded) g (key)
    ) x
    order by x.key
    on conflict do nothing;
    get diagnostics done = row_count;
    if done < added + cardinality(guarded) then
      raise exception 'a row was added meanwhile' using errcode = '40001';
    end if;
    delete from writ.rows r using unnest(guarded) g (key)
    where r.tenant = for_tenant and r.kind = k_kind[g.key] and r.key = k_key[g.key];
  end if;

  if t_tally is not null and false = any (t_there) then
    select count(*) into wanted from unnest(t_there, t_charged) x (there, charged) where x.charged and not x.there;
    insert into writ.tally (tenant, tally, used)
    select for_tenant, x.tally, x.used
    from unnest(t_tally, t_used, t_there, t_charged) with ordinality x (tally, used, there, charged, n)
    where x.charged and not x.there order by x.n
    on conflict do nothing;
    get diagnostics done = row_count;
    if done < wanted then
      raise exception 'a tally was begun meanwhile' using errcode = '40001';
    end if;
  end if;

  if timed then
    delete from writ.due d using unnest(p_entry, p_key, p_due) x (entry, key, due)
    where ok[x.entry] and k_kind[x.key] = 'timer' and x.due is null and d.tenant = for_tenant and d.run = k_key[x.key];
    -- Whoever claims a due run locks its head, so there must be one.
    insert into writ.head (tenant, run, position)
    select for_tenant, k_key[x.key], 0 from unnest(p_entry, p_key, p_due) x (entry, key, due)
    where ok[x.entry] and k_kind[x.key] = 'timer' and x.due is not null and k_key[x.key] <> all (e_run)
    on conflict do nothing;
    insert into writ.due (tenant, run, at, queue, rank)
    select for_tenant, k_key[x.key], x.due, x.queue, x.rank
    from unnest(p_entry, p_key, p_due, p_queue, p_rank) x (entry, key, due, queue, rank)
    where ok[x.entry] and k_kind[x.key] = 'timer' and x.due is not null
    on conflict (tenant, run) do update set at = excluded.at, queue = excluded.queue, rank = excluded.rank;
  end if;

  insert into writ.event (tenant, run, position, type, v, at, body, hash)
  select for_tenant, e_run[x.entry], x.position, x.type, x.v, x.at, x.body, x.hash
  from unnest(v_entry, v_position, v_type, v_v, v_at, v_body, v_hash) x (entry, position, type, v, at, body, hash)
  where ok[x.entry];
  return facts;
end $$;

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

drop function writ.claim_due(text, bigint, bigint, bigint);

-- The one call across tenants. It runs as the owner of the tables and tells only what was claimed. Heads are locked first, as
-- everywhere; one that is locked is moving and left alone. What was free before the lock is looked at again after it.
--
-- Who is next: the first of every tenant, then the second of every tenant, and so on; within a tenant by rank, then the longest
-- due. So a tenant with ten thousand runs does not keep another waiting. Limits are counted over the leases that last, by one
-- claim after the other; without limits claims do not wait for each other.
create function writ.claim_due(
  by_worker text, most bigint, lease_ms bigint, given_now bigint,
  -- Of these queues only; null: of all. The limits of some of them, and of each tenant; null: none.
  of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint
)
returns table (tenant text, run text, epoch bigint) language plpgsql security definer
set search_path = pg_catalog, pg_temp set writ.claiming = 'yes'
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
set enable_material = off set enable_bitmapscan = off
as $$
declare
  now_ms bigint := coalesce(given_now, writ.now_ms());
  limited boolean := l_queue is not null or per_tenant is not null;
  -- So many are looked at: more than are wanted, for those that others are about to claim.
  wide bigint := case when limited then most else most * 5 end;
  -- And so many at each place; more, if some have fewer than that and the others more.
  each bigint;
  is_cut boolean;
  q_room bigint[];
  d_tenant text[];
  d_run text[];
  d_epoch bigint[];
begin
  perform writ.begin_append('', false);
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
      -- The time as part of the place, so that no other index seems to answer it; the lease by its key, however few there are.
      select d.tenant, d.run, d.at, d.queue from writ.due d
      where d.tenant = p.tenant and d.queue = p.queue and d.rank = p.rank
        and (d.tenant, d.queue, d.rank, d.at) <= (p.tenant, p.queue, p.rank, now_ms)
        and coalesce((select l.until from writ.lease l where l.tenant = d.tenant and l.run = d.run), 0) <= now_ms
      order by d.at, d.run limit coalesce(each, (select wide / greatest(count(*), 1) + 1 from place))) n
    where (of_queues is null or p.queue = any (of_queues))
      and coalesce(q_room[array_position(l_queue, p.queue)], 1) > 0
  ), turn as materialized (
    select f.*, row_number() over (partition by f.tenant order by f.rank, f.at, f.run) as n from first f
    order by n, f.at, f.tenant, f.run limit case when limited then null else wide end
  ), room as materialized (
    select t.tenant, per_tenant - (
      select count(*) from writ.lease l where l.tenant = t.tenant and l.until > now_ms) as remaining
    from (select distinct x.tenant from turn x) t where per_tenant is not null
  ), fair as materialized (
    -- Within its tenant's room and its queue's; a queue has its room in the order of turns.
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

-- Who holds which run of a tenant, as long as it lasts.
create function writ.holdings(for_tenant text, after_run text, most bigint, given_now bigint)
returns table (run text, worker text, epoch bigint, queue text, since bigint, until bigint) language plpgsql as $$
begin
  perform set_config('writ.tenant', for_tenant, true);
  return query
    select l.run, l.worker, l.epoch, d.queue, l.since, l.until from writ.lease l
    left join writ.due d on d.tenant = for_tenant and d.run = l.run
    where l.tenant = for_tenant and l.run > after_run and l.until > coalesce(given_now, writ.now_ms())
    order by l.run limit most;
end $$;
