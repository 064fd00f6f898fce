export const appendMigration = {
  number: 2,
  name: "0002-append",
  sql: `
-- Sets the tenant of this transaction, and whether its commit waits for the disk. Both settings end with the
-- transaction, because a transaction pooler keeps no session. It returns a value so that callers can assign it:
-- perform would run a query of its own, at many times the cost.
create function writ.begin_append(for_tenant text, is_soft boolean) returns text language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  if is_soft then
    began := set_config('synchronous_commit', 'off', true);
  elsif current_setting('synchronous_commit') = 'off' then
    began := set_config('synchronous_commit', 'on', true);
  end if;
  return began;
end $$;

-- Appends one entry that advances a run by one event, with at most one conditional row and one charge. False or WR001
-- means that nothing was written; append then finds the reason. Locks are taken in the order of append: head,
-- existing row, tally, new key.
create function writ.append_one(
  for_tenant text, is_soft boolean, of_run text, from_position bigint, under_epoch bigint,
  event_type text, event_v integer, event_at bigint, event_body text, event_hash bytea,
  put_kind text, put_key text, put_was bigint, put_row text,
  charge_tally text, charge_amount double precision, charge_limit double precision
) returns boolean language plpgsql as $$
declare
  began text := writ.begin_append(for_tenant, is_soft);
begin
  update writ.head set position = from_position + 1, hash = event_hash
  where tenant = for_tenant and run = of_run and position = from_position
    and (under_epoch is null or epoch = under_epoch);
  if not found then
    return false;
  end if;
  if put_was is not null then
    update writ.rows set version = put_was + 1, row = put_row
    where tenant = for_tenant and kind = put_kind and key = put_key and version = put_was;
    if not found then
      raise exception 'a row has another version' using errcode = 'WR001';
    end if;
  end if;
  if charge_tally is not null then
    update writ.tally set used = used + charge_amount
    where tenant = for_tenant and tally = charge_tally and (charge_limit is null or used + charge_amount <= charge_limit);
    if not found then
      raise exception 'a charge exceeds its limit' using errcode = 'WR001';
    end if;
  end if;
  if put_kind is not null and put_was is null then
    insert into writ.rows (tenant, kind, key, version, row) values (for_tenant, put_kind, put_key, 1, put_row)
    on conflict do nothing;
    if not found then
      raise exception 'a row exists already' using errcode = 'WR001';
    end if;
  end if;
  insert into writ.event (tenant, run, position, type, v, at, body, hash)
  values (for_tenant, of_run, from_position + 1, event_type, event_v, event_at, event_body, event_hash);
  return true;
end $$;

-- Appends entries of one tenant, at most one per run, sorted by run. All conditions are checked before the first write;
-- an entry that fails writes nothing. Returns null if every entry landed and every requested claim succeeded. Otherwise
-- returns the facts that the failed entries met, from which core/store/check-entry.ts finds the reason, and the
-- runs that were not claimed.
--
-- Every transaction takes its locks in one order: heads, existing rows, tallies, and new keys last. If a concurrent
-- transaction inserts a key between the check and the insert, the call fails with 40001: nothing is written, and the
-- same call finds the key next time.
--
-- Existing rows are found by their whole key: by a lateral subquery with limit 1, by an insert that conflicts, or in a
-- loop. The planner would estimate a join of an array with a table: it may assume that a tenant has one row, and then
-- scan all rows of the tenant for each element. Plans are made once and do not depend on the arrays.
create function writ.append(
  for_tenant text, is_soft boolean,
  e_run text[], e_position bigint[], e_epoch bigint[], e_head bigint[], e_hash bytea[],
  -- The worker that claims each new run; null if none is claimed.
  e_worker text[], lease_ms bigint, given_now bigint,
  v_entry integer[], v_position bigint[], v_type text[], v_v integer[], v_at bigint[], v_body text[], v_hash bytea[],
  -- The keys that are put or checked, sorted, each once. Conditions, puts and charges number entries, keys and tallies
  -- from 1.
  k_kind text[], k_key text[], k_put boolean[],
  c_entry integer[], c_key integer[], c_was bigint[],
  p_entry integer[], p_key integer[], p_version bigint[], p_row text[],
  p_status text[], p_run_id text[], p_reuse_key text[], p_due_at text[], p_due bigint[], p_queue text[], p_rank bigint[],
  t_tally text[], g_entry integer[], g_tally integer[], g_amount double precision[], g_limit double precision[]
) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  began text := writ.begin_append(for_tenant, is_soft);
  ok boolean[];
  h_position bigint[];
  k_version bigint[];
  k_row text[];
  k_new boolean[];
  t_used double precision[];
  t_there boolean[];
  t_charged boolean[];
  trial double precision[];
  refused jsonb := '{}';
  facts jsonb;
  unclaimed jsonb;
  entry integer;
  i integer;
  added integer := 0;
  changed boolean := false;
  timed boolean := false;
  guarded integer[] := '{}';
  wanted bigint;
  done bigint;
begin
  -- Check the conditions: nothing is written yet, only locks are taken.
  select array_agg(h.position order by x.n),
         array_agg(coalesce(h.position, 0) = x.position and (x.epoch is null or coalesce(h.epoch = x.epoch, false)) order by x.n)
  into h_position, ok
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

  if false = any (ok) then
    facts := writ.append_facts(for_tenant, e_run, e_position, ok, k_version, k_row, array(
      select distinct x.key from unnest(c_entry, c_key) x (entry, key) where not ok[x.entry]), refused);
  end if;

  -- Write: first the existing rows, which are locked now, then the new ones.
  insert into writ.head (tenant, run, position, hash)
  select for_tenant, x.run, x.head, x.hash from unnest(e_run, e_head, e_hash, ok, h_position) x (run, head, hash, ok, found)
  where x.ok and x.hash is not null and x.found is not null
  on conflict (tenant, run) do update set position = excluded.position, hash = excluded.hash;

  if k_key is not null then
    k_new := array_fill(false, array[cardinality(k_key)]);
    for i in 1 .. coalesce(cardinality(p_entry), 0) loop
      if ok[p_entry[i]] then
        timed := timed or k_kind[p_key[i]] = 'timer';
        if k_version[p_key[i]] is not null and p_row[i] is null then
          delete from writ.rows where tenant = for_tenant and kind = k_kind[p_key[i]] and key = k_key[p_key[i]];
        elsif k_version[p_key[i]] is not null then
          changed := true;
        elsif p_row[i] is not null then
          added := added + 1;
          k_new[p_key[i]] := true;
        end if;
      end if;
    end loop;
    if changed then
      insert into writ.rows (tenant, kind, key, version, row, status, run_id, reuse_key, due_at)
      select for_tenant, k_kind[p.key], k_key[p.key], p.version, p.row, p.status, p.run_id, p.reuse_key, p.due_at
      from unnest(p_entry, p_key, p_version, p_row, p_status, p_run_id, p_reuse_key, p_due_at)
           p (entry, key, version, row, status, run_id, reuse_key, due_at)
      where ok[p.entry] and p.row is not null and k_version[p.key] is not null
      on conflict (tenant, kind, key) do update set version = excluded.version, row = excluded.row, status = excluded.status,
        run_id = excluded.run_id, reuse_key = excluded.reuse_key, due_at = excluded.due_at;
    end if;
    -- A row that must be absent has to stay absent until the commit: insert its key, and delete it before the commit.
    for i in 1 .. coalesce(cardinality(c_entry), 0) loop
      if c_was[i] is null and ok[c_entry[i]] and not k_new[c_key[i]] then
        k_new[c_key[i]] := true;
        guarded := guarded || c_key[i];
      end if;
    end loop;
  end if;

  if t_tally is not null then
    for i in 1 .. cardinality(t_tally) loop
      if t_there[i] and t_charged[i] then
        update writ.tally set used = t_used[i] where tenant = for_tenant and tally = t_tally[i];
      end if;
    end loop;
  end if;

  select count(*) into wanted from unnest(ok, h_position) x (ok, found) where x.ok and x.found is null;
  if wanted > 0 then
    insert into writ.head (tenant, run, position, hash, epoch)
    select for_tenant, x.run, x.head, x.hash, case when x.worker is not null then 1 end
    from unnest(e_run, e_head, e_hash, e_worker, ok, h_position) with ordinality x (run, head, hash, worker, ok, found, n)
    where x.ok and x.found is null order by x.n
    on conflict do nothing;
    get diagnostics done = row_count;
    if done < wanted then
      raise exception 'a concurrent transaction began the run' using errcode = '40001';
    end if;
  end if;

  if e_worker is not null then
    -- A run that did not exist has no lease.
    insert into writ.lease (tenant, run, epoch, worker, until, since)
    select for_tenant, x.run, 1, x.worker, now.ms + lease_ms, now.ms
    from unnest(e_run, e_worker, ok, h_position) x (run, worker, ok, found), coalesce(given_now, writ.now_ms()) now (ms)
    where x.ok and x.found is null and x.worker is not null;
    select jsonb_agg(x.n) into unclaimed from unnest(e_worker, ok, h_position) with ordinality x (worker, ok, found, n)
    where x.worker is not null and (x.found is not null or not x.ok);
    if unclaimed is not null then
      facts := coalesce(facts, '{"entries": []}') || jsonb_build_object('unclaimed', unclaimed);
    end if;
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
      raise exception 'a concurrent transaction added the row' using errcode = '40001';
    end if;
    foreach i in array guarded loop
      delete from writ.rows where tenant = for_tenant and kind = k_kind[i] and key = k_key[i];
    end loop;
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
      raise exception 'a concurrent transaction added the tally' using errcode = '40001';
    end if;
  end if;

  if timed then
    for i in 1 .. cardinality(p_entry) loop
      if ok[p_entry[i]] and k_kind[p_key[i]] = 'timer' and p_due[i] is null then
        delete from writ.due where tenant = for_tenant and run = k_key[p_key[i]];
      end if;
    end loop;
    -- A claim locks the head of a due run, so the head must exist.
    insert into writ.head (tenant, run, position)
    select for_tenant, k_key[x.key], 0 from unnest(p_entry, p_key, p_due) x (entry, key, due)
    where ok[x.entry] and k_kind[x.key] = 'timer' and x.due is not null and k_key[x.key] <> all (e_run)
    on conflict do nothing;
    insert into writ.due (tenant, run, at, queue, rank)
    select for_tenant, k_key[x.key], x.due, coalesce(x.queue, 'default'), coalesce(x.rank, 0)
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

-- Returns the facts that the failed entries met; null if none failed.
create function writ.append_facts(
  for_tenant text, e_run text[], e_position bigint[], ok boolean[], k_version bigint[], k_row text[], keys integer[], refused jsonb
) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
  if true = all (ok) then
    return null;
  end if;
  return jsonb_build_object(
    'entries', (
      select jsonb_agg(jsonb_build_object(
        'entry', x.n, 'position', coalesce(h.position, 0), 'epoch', h.epoch, 'hash', encode(v.hash, 'hex'),
        'used', refused -> x.n::text))
      from unnest(e_run, e_position, ok) with ordinality x (run, position, ok, n)
      left join lateral (
        select position, epoch from writ.head where tenant = for_tenant and run = x.run limit 1
      ) h on true
      left join lateral (
        select hash from writ.event where tenant = for_tenant and run = x.run and position = x.position + 1 limit 1
      ) v on true
      where not x.ok),
    'keys', (
      select jsonb_agg(jsonb_build_object('key', x.key, 'version', k_version[x.key], 'row', k_row[x.key]))
      from unnest(keys) x (key)));
end $$;
`,
};
