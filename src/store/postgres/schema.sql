create table writ.blob (
  tenant text collate "C" not null,
  hash text collate "C" not null,
  bytes bytea not null,
  PRIMARY KEY (tenant, hash)
) -- row level security forced;
create policy own_tenant on writ.blob to public using ((tenant = current_setting('writ.tenant'::text, true)));

create unlogged table writ.boot (
  singular boolean not null default true,
  name text not null default gen_random_uuid(),
  PRIMARY KEY (singular),
  CHECK (singular)
);

create table writ.due (
  tenant text collate "C" not null,
  run text collate "C" not null,
  at bigint not null,
  queue text collate "C" not null default 'default'::text,
  rank bigint not null default 0,
  PRIMARY KEY (tenant, run)
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=500) -- row level security forced;
CREATE INDEX due_at ON writ.due USING btree (at, tenant, run);
CREATE INDEX due_turn ON writ.due USING btree (tenant, queue, rank, at, run);
create policy claiming on writ.due to the owner using ((current_setting('search_path'::text) = 'pg_catalog, pg_temp'::text));
create policy own_tenant on writ.due to public using ((tenant = current_setting('writ.tenant'::text, true)));

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
  PRIMARY KEY (tenant, run, "position")
) -- row level security forced;
create policy own_tenant on writ.event to public using ((tenant = current_setting('writ.tenant'::text, true)));

create table writ.head (
  tenant text collate "C" not null,
  run text collate "C" not null,
  position bigint not null,
  hash bytea,
  epoch bigint,
  PRIMARY KEY (tenant, run)
) with (fillfactor=70) -- row level security forced;
create policy claiming on writ.head to the owner using ((current_setting('search_path'::text) = 'pg_catalog, pg_temp'::text));
create policy own_tenant on writ.head to public using ((tenant = current_setting('writ.tenant'::text, true)));

create table writ.lease (
  tenant text collate "C" not null,
  run text collate "C" not null,
  epoch bigint not null,
  worker text not null,
  until bigint not null,
  prior text,
  since bigint not null default 0,
  wanted text,
  wanted_until bigint,
  PRIMARY KEY (tenant, run)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=500) -- row level security forced;
create policy claiming on writ.lease to the owner using ((current_setting('search_path'::text) = 'pg_catalog, pg_temp'::text));
create policy own_tenant on writ.lease to public using ((tenant = current_setting('writ.tenant'::text, true)));

create unlogged table writ.marker (
  tenant text collate "C" not null,
  run text collate "C" not null,
  step text collate "C" not null,
  attempt bigint not null,
  epoch bigint not null,
  PRIMARY KEY (tenant, run, step, attempt)
) -- row level security forced;
create policy own_tenant on writ.marker to public using ((tenant = current_setting('writ.tenant'::text, true)));

create table writ.migration (
  number integer not null,
  name text not null,
  PRIMARY KEY (number)
);

create table writ.need (
  tenant text collate "C" not null,
  run text collate "C" not null,
  need text collate "C" not null,
  queue text collate "C" not null,
  rank bigint not null,
  PRIMARY KEY (tenant, run, need)
) -- row level security forced;
CREATE INDEX need_of ON writ.need USING btree (need, tenant, run);
create policy claiming on writ.need to the owner using ((current_setting('search_path'::text) = 'pg_catalog, pg_temp'::text));
create policy own_tenant on writ.need to public using ((tenant = current_setting('writ.tenant'::text, true)));

create table writ.outdated (
  tenant text collate "C" not null,
  run text collate "C" not null,
  PRIMARY KEY (tenant, run)
) -- row level security forced;
create policy claiming on writ.outdated to the owner using ((current_setting('search_path'::text) = 'pg_catalog, pg_temp'::text));
create policy own_tenant on writ.outdated to public using ((tenant = current_setting('writ.tenant'::text, true)));

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
  PRIMARY KEY (tenant, kind, key)
) with (fillfactor=70) -- row level security forced;
CREATE INDEX rows_due_at ON writ.rows USING btree (tenant, kind, due_at, key) WHERE (due_at IS NOT NULL);
CREATE INDEX rows_reuse_key ON writ.rows USING btree (tenant, kind, reuse_key, key) WHERE (reuse_key IS NOT NULL);
CREATE INDEX rows_run_id ON writ.rows USING btree (tenant, kind, run_id, key) WHERE (run_id IS NOT NULL);
CREATE INDEX rows_status ON writ.rows USING btree (tenant, kind, status, key) WHERE (status IS NOT NULL);
create policy claiming_rules on writ.rows to the owner using (((kind = 'timer'::text) AND (current_setting('search_path'::text) = 'pg_catalog, pg_temp'::text)));
create policy own_tenant on writ.rows to public using ((tenant = current_setting('writ.tenant'::text, true)));

create unlogged table writ.sent (
  tenant text collate "C" not null,
  run text collate "C" not null,
  number bigint not null,
  PRIMARY KEY (tenant, run)
) -- row level security forced;
create policy own_tenant on writ.sent to public using ((tenant = current_setting('writ.tenant'::text, true)));

create table writ.tag (
  tenant text collate "C" not null,
  kind text collate "C" not null,
  tag text collate "C" not null,
  key text collate "C" not null,
  PRIMARY KEY (tenant, kind, tag, key)
) -- row level security forced;
create policy own_tenant on writ.tag to public using ((tenant = current_setting('writ.tenant'::text, true)));

create table writ.tally (
  tenant text collate "C" not null,
  tally text collate "C" not null,
  used double precision not null,
  PRIMARY KEY (tenant, tally)
) with (fillfactor=50) -- row level security forced;
create policy own_tenant on writ.tally to public using ((tenant = current_setting('writ.tenant'::text, true)));

create table writ.worker (
  id text collate "C" not null,
  rules text collate "C",
  until bigint not null,
  offers text[],
  about text,
  PRIMARY KEY (id)
);

CREATE OR REPLACE FUNCTION writ.append(for_tenant text, is_soft boolean, e_run text[], e_position bigint[], e_epoch bigint[], e_head bigint[], e_hash bytea[], e_worker text[], lease_ms bigint, given_now bigint, v_entry integer[], v_position bigint[], v_type text[], v_v integer[], v_at bigint[], v_body text[], v_hash bytea[], k_kind text[], k_key text[], k_put boolean[], c_entry integer[], c_key integer[], c_was bigint[], p_entry integer[], p_key integer[], p_version bigint[], p_row text[], p_status text[], p_run_id text[], p_reuse_key text[], p_due_at text[], p_due bigint[], p_queue text[], p_rank bigint[], t_tally text[], g_entry integer[], g_tally integer[], g_amount double precision[], g_limit double precision[])
 RETURNS jsonb
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.append_all(g_tenant text[], g_kind text[], g_key text[], g_was bigint[], for_tenant text, is_soft boolean, e_run text[], e_position bigint[], e_epoch bigint[], e_head bigint[], e_hash bytea[], b_run text[], b_head bigint[], b_hash bytea[], b_worker text[], lease_ms bigint, given_now bigint, o_kind text[], o_key text[], o_version bigint[], o_row text[], o_status text[], o_run_id text[], o_reuse_key text[], o_due_at text[], n_kind text[], n_key text[], n_row text[], n_status text[], n_run_id text[], n_reuse_key text[], n_due_at text[], d_kind text[], d_key text[], t_run text[], t_due bigint[], t_queue text[], t_rank bigint[], s_run text[], v_run text[], v_position bigint[], v_type text[], v_v integer[], v_at bigint[], v_body text[], v_hash bytea[])
 RETURNS boolean
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare
  began boolean := g_key is null or writ.heed(g_tenant, g_kind, g_key, g_was);
  begun text := writ.begin_append(for_tenant, is_soft);
  done bigint;
begin
  if e_run is not null then
    with moved as (
      insert into writ.head as h (tenant, run, position, epoch)
      select for_tenant, x.run, -1, x.n from unnest(e_run) with ordinality x (run, n)
      on conflict (tenant, run) do update set position = e_head[excluded.epoch], hash = e_hash[excluded.epoch]
      where h.position = e_position[excluded.epoch] and (e_epoch[excluded.epoch] is null or h.epoch = e_epoch[excluded.epoch])
      returning h.position
    )
    select count(*) into done from moved m where m.position >= 0;
    if done < cardinality(e_run) then
      raise exception 'a run has another position or epoch' using errcode = 'WR001';
    end if;
  end if;

  if o_key is not null then
    with put as (
      insert into writ.rows as r (tenant, kind, key, version, row, status, run_id, reuse_key, due_at)
      select for_tenant, x.kind, x.key, -x.version, x.row, x.status, x.run_id, x.reuse_key, x.due_at
      from unnest(o_kind, o_key, o_version, o_row, o_status, o_run_id, o_reuse_key, o_due_at)
           x (kind, key, version, row, status, run_id, reuse_key, due_at)
      on conflict (tenant, kind, key) do update set version = -excluded.version, row = excluded.row, status = excluded.status,
        run_id = excluded.run_id, reuse_key = excluded.reuse_key, due_at = excluded.due_at
      where excluded.version = 0 or r.version = -excluded.version - 1
      returning r.version
    )
    select count(*) into done from put p where p.version >= 0;
    if done < cardinality(o_key) then
      raise exception 'a row has another version' using errcode = 'WR001';
    end if;
  end if;
  for i in 1 .. coalesce(cardinality(d_key), 0) loop
    delete from writ.rows where tenant = for_tenant and kind = d_kind[i] and key = d_key[i];
  end loop;

  if b_run is not null then
    insert into writ.head (tenant, run, position, hash, epoch)
    select for_tenant, x.run, x.head, x.hash, case when x.worker is not null then 1 end
    from unnest(b_run, b_head, b_hash, b_worker) x (run, head, hash, worker)
    on conflict do nothing;
    get diagnostics done = row_count;
    if done < cardinality(b_run) then
      raise exception 'a run exists already' using errcode = 'WR001';
    end if;
  end if;
  if b_worker is not null then
    -- A run that did not exist has no lease.
    insert into writ.lease (tenant, run, epoch, worker, until, since)
    select for_tenant, x.run, 1, x.worker, now.ms + lease_ms, now.ms
    from unnest(b_run, b_worker) x (run, worker), coalesce(given_now, writ.now_ms()) now (ms)
    where x.worker is not null;
  end if;

  if n_key is not null then
    insert into writ.rows (tenant, kind, key, version, row, status, run_id, reuse_key, due_at)
    select for_tenant, x.kind, x.key, 1, x.row, x.status, x.run_id, x.reuse_key, x.due_at
    from unnest(n_kind, n_key, n_row, n_status, n_run_id, n_reuse_key, n_due_at)
         x (kind, key, row, status, run_id, reuse_key, due_at)
    on conflict do nothing;
    get diagnostics done = row_count;
    if done < cardinality(n_key) then
      raise exception 'a row exists already' using errcode = 'WR001';
    end if;
  end if;

  for i in 1 .. coalesce(cardinality(s_run), 0) loop
    delete from writ.due where tenant = for_tenant and run = s_run[i];
  end loop;
  if t_run is not null then
    insert into writ.due (tenant, run, at, queue, rank)
    select for_tenant, x.run, x.due, coalesce(x.queue, 'default'), coalesce(x.rank, 0)
    from unnest(t_run, t_due, t_queue, t_rank) x (run, due, queue, rank)
    on conflict (tenant, run) do update set at = excluded.at, queue = excluded.queue, rank = excluded.rank;
  end if;

  insert into writ.event (tenant, run, position, type, v, at, body, hash)
  select for_tenant, x.run, x.position, x.type, x.v, x.at, x.body, x.hash
  from unnest(v_run, v_position, v_type, v_v, v_at, v_body, v_hash) x (run, position, type, v, at, body, hash);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION writ.append_facts(for_tenant text, e_run text[], e_position bigint[], ok boolean[], k_version bigint[], k_row text[], keys integer[], refused jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.append_heeding(g_tenant text[], g_kind text[], g_key text[], g_was bigint[], for_tenant text, is_soft boolean, e_run text[], e_position bigint[], e_epoch bigint[], e_head bigint[], e_hash bytea[], e_worker text[], lease_ms bigint, given_now bigint, v_entry integer[], v_position bigint[], v_type text[], v_v integer[], v_at bigint[], v_body text[], v_hash bytea[], k_kind text[], k_key text[], k_put boolean[], c_entry integer[], c_key integer[], c_was bigint[], p_entry integer[], p_key integer[], p_version bigint[], p_row text[], p_status text[], p_run_id text[], p_reuse_key text[], p_due_at text[], p_due bigint[], p_queue text[], p_rank bigint[], t_tally text[], g_entry integer[], g_tally integer[], g_amount double precision[], g_limit double precision[])
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  heeded boolean := writ.heed(g_tenant, g_kind, g_key, g_was);
begin
  return writ.append(
    for_tenant, is_soft, e_run, e_position, e_epoch, e_head, e_hash, e_worker, lease_ms, given_now,
    v_entry, v_position, v_type, v_v, v_at, v_body, v_hash, k_kind, k_key, k_put, c_entry, c_key, c_was,
    p_entry, p_key, p_version, p_row, p_status, p_run_id, p_reuse_key, p_due_at, p_due, p_queue, p_rank,
    t_tally, g_entry, g_tally, g_amount, g_limit);
end $function$;

CREATE OR REPLACE FUNCTION writ.append_one(for_tenant text, is_soft boolean, of_run text, from_position bigint, under_epoch bigint, event_type text, event_v integer, event_at bigint, event_body text, event_hash bytea, put_kind text, put_key text, put_was bigint, put_row text, charge_tally text, charge_amount double precision, charge_limit double precision)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.append_one_heeding(g_tenant text[], g_kind text[], g_key text[], g_was bigint[], for_tenant text, is_soft boolean, of_run text, from_position bigint, under_epoch bigint, event_type text, event_v integer, event_at bigint, event_body text, event_hash bytea, put_kind text, put_key text, put_was bigint, put_row text, charge_tally text, charge_amount double precision, charge_limit double precision)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  heeded boolean := writ.heed(g_tenant, g_kind, g_key, g_was);
begin
  return writ.append_one(
    for_tenant, is_soft, of_run, from_position, under_epoch, event_type, event_v, event_at, event_body, event_hash,
    put_kind, put_key, put_was, put_row, charge_tally, charge_amount, charge_limit);
end $function$;

CREATE OR REPLACE FUNCTION writ.ask(for_tenant text, of_run text, by_worker text, lease_ms bigint, given_now bigint)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  began text := writ.begin_append(for_tenant, true);
  now_ms bigint := coalesce(given_now, writ.now_ms());
begin
  update writ.lease l set wanted = by_worker, wanted_until = now_ms + lease_ms
  where l.tenant = for_tenant and l.run = of_run and l.worker <> by_worker and l.until > now_ms
    and (l.wanted is distinct from by_worker or l.wanted_until < now_ms + lease_ms / 2);
  if found then
    perform pg_notify('writ', '');
    return true;
  end if;
  return exists (
    select from writ.lease l
    where l.tenant = for_tenant and l.run = of_run and l.worker <> by_worker and l.until > now_ms);
end $function$;

CREATE OR REPLACE FUNCTION writ.begin_append(for_tenant text, is_soft boolean)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  if is_soft then
    began := set_config('synchronous_commit', 'off', true);
  elsif current_setting('synchronous_commit') = 'off' then
    began := set_config('synchronous_commit', 'on', true);
  end if;
  return began;
end $function$;

CREATE OR REPLACE FUNCTION writ.blob_of(for_tenant text, of_hash text)
 RETURNS bytea
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return (select b.bytes from writ.blob b where b.tenant = for_tenant and b.hash = of_hash);
end $function$;

CREATE OR REPLACE FUNCTION writ.boot_name()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
begin
  if not exists (select from writ.boot) then
    perform set_config('synchronous_commit', 'off', true);
    insert into writ.boot default values on conflict do nothing;
  end if;
  return (select format('%s %s %s', b.name, d.oid, extract(epoch from pg_postmaster_start_time()))
          from writ.boot b, pg_catalog.pg_database d where d.datname = current_database());
end $function$;

CREATE OR REPLACE FUNCTION writ.claim(for_tenant text, of_run text, by_worker text, lease_ms bigint, given_now bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.claim_due(by_worker text, most bigint, lease_ms bigint, given_now bigint, of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint, elsewhere text[], its_rules text, offered text[], lacks_same text[], lacks_any text[])
 RETURNS TABLE(tenant text, run text, epoch bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_material TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.claim_needed(by_worker text, most bigint, lease_ms bigint, given_now bigint, of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint, offered text[], elsewhere text[])
 RETURNS TABLE(tenant text, run text, epoch bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_material TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.claim_some(by_worker text, most bigint, lease_ms bigint, given_now bigint, of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint, offered text[], its_rules text, its_process text)
 RETURNS TABLE(tenant text, run text, epoch bigint)
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.claims(for_tenant text, after_run text, most bigint)
 RETURNS TABLE(run text, epoch bigint, worker text, lease_epoch bigint, sent bigint, markers text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.count_rows(for_tenant text, of_kind text, tags text[], low text, high text, most bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
  sorted text[] := tags;
begin
  if coalesce(cardinality(tags), 0) = 0 then
    return (select count(*) from (
      select from writ.rows r
      where r.tenant = for_tenant and r.kind = of_kind and r.key >= low and r.key < high limit most) c);
  end if;
  if cardinality(tags) > 1 then
    sorted := writ.rarest_first(for_tenant, of_kind, tags, low, high);
  end if;
  return (select count(*) from (
    select from writ.tag t
    where t.tenant = for_tenant and t.kind = of_kind and t.tag = sorted[1] and t.key >= low and t.key < high
      and not exists (
        select from unnest(sorted[2:]) o (tag)
        where not exists (
          select from writ.tag u where u.tenant = for_tenant and u.kind = of_kind and u.tag = o.tag and u.key = t.key))
    limit most) c);
end $function$;

CREATE OR REPLACE FUNCTION writ.erase(for_tenant text, of_run text, from_position bigint, at_position bigint[], with_hash bytea[], blob_hash text[])
 RETURNS bigint
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  began text := writ.begin_append(for_tenant, false);
  reached bigint;
  erased bigint := 0;
begin
  select h.position into reached from writ.head h where h.tenant = for_tenant and h.run = of_run for no key update;
  if coalesce(reached, 0) <> from_position then
    return null;
  end if;
  delete from writ.blob where tenant = for_tenant and hash = any (blob_hash);
  for i in 1 .. coalesce(cardinality(at_position), 0) loop
    update writ.event set body = null, body_hash = with_hash[i]
    where tenant = for_tenant and run = of_run and position = at_position[i] and body is not null;
    erased := erased + found::integer;
  end loop;
  return erased;
end $function$;

CREATE OR REPLACE FUNCTION writ.events(for_tenant text, of_run text, after_position bigint, most bigint)
 RETURNS TABLE(n bigint, type text, v integer, at bigint, body text, hash bytea, body_hash bytea)
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select e.position, e.type, e.v, e.at, e.body, e.hash, e.body_hash from writ.event e
    where e.tenant = for_tenant and e.run = of_run and e.position > after_position order by e.position limit most;
end $function$;

CREATE OR REPLACE FUNCTION writ.field_tags(of_field text, value jsonb)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  if value is null then
    return '{}';
  elsif jsonb_typeof(value) = 'string' then
    return array[of_field || '=' || (value #>> '{}')];
  elsif jsonb_typeof(value) = 'array' then
    return array(select distinct of_field || '=' || (e.value #>> '{}') from jsonb_array_elements(value) e (value)
                 where jsonb_typeof(e.value) = 'string');
  end if;
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION writ.forget_worker(by_worker text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  delete from writ.worker w where w.id = by_worker;
end $function$;

CREATE OR REPLACE FUNCTION writ.head_of(for_tenant text, of_run text)
 RETURNS TABLE(n bigint, hash bytea)
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select h.position, h.hash from writ.head h where h.tenant = for_tenant and h.run = of_run and h.position > 0;
end $function$;

CREATE OR REPLACE FUNCTION writ.heed(g_tenant text[], g_kind text[], g_key text[], g_was bigint[])
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  began text;
  found_version bigint;
begin
  for i in 1 .. cardinality(g_key) loop
    began := set_config('writ.tenant', g_tenant[i], true);
    found_version := (select version from writ.rows where tenant = g_tenant[i] and kind = g_kind[i] and key = g_key[i]);
    if found_version is distinct from g_was[i] then
      raise exception 'a row that was checked without a lock has changed' using errcode = 'WR003';
    end if;
  end loop;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION writ.held_runs(c_tenant text[], c_run text[], c_worker text[], c_epoch bigint[], given_now bigint)
 RETURNS TABLE(n_events bigint, is_wanted boolean)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  began text;
  now_ms bigint := coalesce(given_now, writ.now_ms());
begin
  for i in 1 .. cardinality(c_run) loop
    began := set_config('writ.tenant', c_tenant[i], true);
    n_events := coalesce((select h.position from writ.head h where h.tenant = c_tenant[i] and h.run = c_run[i]), 0);
    is_wanted := exists (
      select from writ.lease l
      where l.tenant = c_tenant[i] and l.run = c_run[i] and l.worker = c_worker[i] and l.epoch = c_epoch[i]
        and l.wanted <> l.worker and l.wanted_until > now_ms);
    return next;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION writ.holdings(for_tenant text, after_run text, most bigint, given_now bigint)
 RETURNS TABLE(run text, worker text, epoch bigint, queue text, since bigint, until bigint)
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select l.run, l.worker, l.epoch, d.queue, l.since, l.until from writ.lease l
    left join writ.due d on d.tenant = for_tenant and d.run = l.run
    where l.tenant = for_tenant and l.run > after_run and l.until > coalesce(given_now, writ.now_ms())
    order by l.run limit most;
end $function$;

CREATE OR REPLACE FUNCTION writ.is_left(of_tenant text, of_run text, its_rules text, offered text[], lacks_same text[], lacks_any text[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(bool_or(t.tool = any (case when x.timer ->> 'rules' = its_rules then lacks_same else lacks_any end))
    and not bool_or(t.tool = any (coalesce(offered, '{}'))), false)
  from (select r.row::json as timer from writ.rows r
        where r.tenant = of_tenant and r.kind = 'timer' and r.key = of_run) x
  cross join lateral json_array_elements_text(x.timer -> 'tools') t (tool)
$function$;

CREATE OR REPLACE FUNCTION writ.journals(for_tenant text, after_run text, most bigint)
 RETURNS TABLE(run text, head_n bigint, head_hash bytea, n bigint, type text, v integer, at bigint, body text, hash bytea, body_hash bytea)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    with told as materialized (
      select r.run, h.position, h.hash, row_number() over (order by r.run) as k,
             sum(coalesce(h.position, 0)) over (order by r.run) as events
      from writ.runs(for_tenant, after_run, most) r
      left join lateral (
        select * from writ.head s where s.tenant = for_tenant and s.run = r.run and s.position > 0 limit 1
      ) h on true
    )
    select t.run, t.position, t.hash, e.position, e.type, e.v, e.at, e.body, e.hash, e.body_hash from told t
    left join lateral (
      select * from writ.event s where s.tenant = for_tenant and s.run = t.run order by s.position
    ) e on true
    where t.k = 1 or t.events <= 1000 order by t.k, e.position;
end $function$;

CREATE OR REPLACE FUNCTION writ.list(for_tenant text, of_kind text, by_field text, equal_to text, after_key text, is_newest boolean, most bigint)
 RETURNS TABLE(key text, version bigint, text text)
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query execute
    'select r.key, r.version, r.row from writ.rows r where r.tenant = $1 and r.kind = $2'
    || case when by_field is null then '' else format(' and r.%I = $3', by_field) end
    || case when after_key is null then '' when is_newest then ' and r.key < $4' else ' and r.key > $4' end
    || ' order by r.key' || case when is_newest then ' desc' else '' end || ' limit $5'
  using for_tenant, of_kind, equal_to, after_key, most;
end $function$;

CREATE OR REPLACE FUNCTION writ.mark(for_tenant text, c_run text[], c_worker text[], c_epoch bigint[], of_step text[], of_attempt bigint[])
 RETURNS boolean[]
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.mark_refolded(for_tenant text, of_run text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  began text := writ.begin_append(for_tenant, true);
begin
  delete from writ.outdated o where o.tenant = for_tenant and o.run = of_run;
end $function$;

CREATE OR REPLACE FUNCTION writ.marked(for_tenant text, of_run text, of_step text, of_attempt bigint)
 RETURNS TABLE(there boolean, whole boolean, boot text)
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.next_due(given_now bigint)
 RETURNS TABLE(now_ms bigint, due bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  now_ms := coalesce(given_now, writ.now_ms());
  select d.at into due from writ.due d where d.at > now_ms order by d.at limit 1;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION writ.note_needs()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.note_tags()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  is_new boolean := tg_op = 'INSERT';
  is_gone boolean := tg_op = 'DELETE';
  of_tenant text := case when is_gone then old.tenant else new.tenant end;
  of_kind text := case when is_gone then old.kind else new.kind end;
  of_key text := case when is_gone then old.key else new.key end;
  before jsonb := case when is_new then '{}' else writ.row_fields(old.row) end;
  after jsonb := case when is_gone then '{}' else writ.row_fields(new.row) end;
  field text;
  former text[];
  present text[];
  one text;
begin
  foreach field in array writ.tagged_fields(of_kind) loop
    if before -> field is distinct from after -> field then
      former := writ.field_tags(field, before -> field);
      present := writ.field_tags(field, after -> field);
      foreach one in array former loop
        if one <> all (present) then
          delete from writ.tag t where t.tenant = of_tenant and t.kind = of_kind and t.tag = one and t.key = of_key;
        end if;
      end loop;
      foreach one in array present loop
        if one <> all (former) then
          insert into writ.tag (tenant, kind, tag, key) values (of_tenant, of_kind, one, of_key) on conflict do nothing;
        end if;
      end loop;
    end if;
  end loop;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION writ.note_worker(by_worker text, its_rules text, offered text[], its_process text, lease_ms bigint, given_now bigint)
 RETURNS text[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  now_ms bigint := coalesce(given_now, writ.now_ms());
begin
  if its_rules is not null then
    insert into writ.worker as w (id, rules, offers, about, until)
    values (by_worker, its_rules, offered, its_process, now_ms + lease_ms)
    on conflict (id) do update set rules = excluded.rules, offers = excluded.offers, about = excluded.about, until = excluded.until
    where w.until < now_ms + lease_ms / 2 or w.rules is distinct from excluded.rules or w.offers is distinct from excluded.offers;
    if found then
      delete from writ.worker w where w.until < now_ms - 10 * lease_ms;
    end if;
  end if;
  return (select array_agg(distinct w.rules) from writ.worker w
          where w.until > now_ms and w.rules is not null and w.rules is distinct from its_rules);
end $function$;

CREATE OR REPLACE FUNCTION writ.now_ms()
 RETURNS bigint
 LANGUAGE sql
AS $function$
  select (extract(epoch from clock_timestamp()) * 1000)::bigint
$function$;

CREATE OR REPLACE FUNCTION writ.offers_elsewhere(by_worker text, of_rules text, offered text[], given_now bigint)
 RETURNS text[]
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select array_agg(distinct o.need) from writ.worker w cross join unnest(w.offers) o (need)
  where w.id <> by_worker and w.until > coalesce(given_now, writ.now_ms()) and w.rules is not null
    and (of_rules is null or w.rules = of_rules)
    -- Equal workers are compared as a whole.
    and w.offers is distinct from offered and o.need <> all (coalesce(offered, '{}'))
$function$;

CREATE OR REPLACE FUNCTION writ.outdated_runs(most bigint)
 RETURNS TABLE(tenant text, run text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select o.tenant, o.run from writ.outdated o order by o.tenant, o.run limit most
$function$;

CREATE OR REPLACE FUNCTION writ.predecessor(for_tenant text, of_run text, by_worker text, under_epoch bigint)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return (select l.prior from writ.lease l
          where l.tenant = for_tenant and l.run = of_run and l.worker = by_worker and l.epoch = under_epoch);
end $function$;

CREATE OR REPLACE FUNCTION writ.put_blob(for_tenant text, of_hash text, all_bytes bytea)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  began text := writ.begin_append(for_tenant, true);
begin
  insert into writ.blob (tenant, hash, bytes) values (for_tenant, of_hash, all_bytes) on conflict do nothing;
end $function$;

CREATE OR REPLACE FUNCTION writ.rarest_first(for_tenant text, of_kind text, tags text[], low text, high text)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select array_agg(x.tag order by x.entries) from (
    select w.tag, (
      select count(*) from (
        select from writ.tag t
        where t.tenant = for_tenant and t.kind = of_kind and t.tag = w.tag and t.key >= low and t.key < high limit 1000
      ) c
    ) as entries from unnest(tags) w (tag)
  ) x
$function$;

CREATE OR REPLACE FUNCTION writ.release(for_tenant text, c_run text[], c_worker text[], c_epoch bigint[], lease_ms bigint, given_now bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  began text := writ.begin_append(for_tenant, true);
  now_ms bigint := coalesce(given_now, writ.now_ms());
begin
  for i in 1 .. cardinality(c_run) loop
    update writ.lease l
    set worker = l.wanted, until = now_ms + lease_ms, since = now_ms, prior = null, wanted = null, wanted_until = null
    where l.tenant = for_tenant and l.run = c_run[i] and l.worker = c_worker[i] and l.epoch = c_epoch[i]
      and l.wanted <> l.worker and l.wanted_until > now_ms;
    if not found then
      delete from writ.lease l
      where l.tenant = for_tenant and l.run = c_run[i] and l.worker = c_worker[i] and l.epoch = c_epoch[i];
    end if;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION writ.renew(c_tenant text[], c_run text[], c_worker text[], c_epoch bigint[], lease_ms bigint, given_now bigint)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.retire_worker(by_worker text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  update writ.worker w set rules = null, offers = null where w.id = by_worker;
end $function$;

CREATE OR REPLACE FUNCTION writ.row_copies(for_tenant text, after_kind text, after_key text, most bigint)
 RETURNS TABLE(kind text, key text, content text, status text, run_id text, reuse_key text, due_at text, at bigint, queue text, rank bigint, needs text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.row_fields(of_row text)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  return of_row::jsonb;
exception when invalid_text_representation then
  return '{}'; -- It is not a row of an engine.
end $function$;

CREATE OR REPLACE FUNCTION writ.row_tags(of_kind text, of_row text)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  fields jsonb := writ.row_fields(of_row);
  field text;
  tags text[] := '{}';
begin
  foreach field in array writ.tagged_fields(of_kind) loop
    tags := tags || writ.field_tags(field, fields -> field);
  end loop;
  return tags;
end $function$;

CREATE OR REPLACE FUNCTION writ.rows_of(for_tenant text, k_kind text[], k_key text[])
 RETURNS TABLE(n bigint, key text, version bigint, text text)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select x.n, r.key, r.version, r.row from unnest(k_kind, k_key) with ordinality x (kind, key, n)
    cross join lateral (
      select * from writ.rows s where s.tenant = for_tenant and s.kind = x.kind and s.key = x.key limit 1
    ) r order by x.n;
end $function$;

CREATE OR REPLACE FUNCTION writ.rules_of(of_tenant text, of_run text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select r.row::json ->> 'rules' from writ.rows r where r.tenant = of_tenant and r.kind = 'timer' and r.key = of_run
$function$;

CREATE OR REPLACE FUNCTION writ.runs(for_tenant text, after_run text, most bigint)
 RETURNS TABLE(run text)
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    with recursive told (run) as (
      (select e.run from writ.event e where e.tenant = for_tenant and e.run > after_run order by e.run limit 1)
      union all
      select (select e.run from writ.event e where e.tenant = for_tenant and e.run > t.run order by e.run limit 1)
      from told t where t.run is not null
    )
    (select t.run from told t where t.run is not null limit most)
    union
    (select h.run from writ.head h
     where h.tenant = for_tenant and h.run > after_run and h.position > 0 order by h.run limit most)
    order by run limit most;
end $function$;

CREATE OR REPLACE FUNCTION writ.search(for_tenant text, of_kind text, tags text[], low text, high text, is_newest boolean, most bigint, examined bigint)
 RETURNS TABLE(key text, version bigint, text text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
  sorted text[] := tags;
  direction text := case when is_newest then ' desc' else '' end;
  probes text := '';
  bound text;
  found_keys text[];
begin
  if coalesce(cardinality(tags), 0) = 0 then
    return query execute 'select r.key, r.version, r.row from writ.rows r
      where r.tenant = $1 and r.kind = $2 and r.key >= $3 and r.key < $4 order by r.key' || direction || ' limit $5'
    using for_tenant, of_kind, low, high, most;
    return;
  end if;
  if cardinality(tags) > 1 then
    sorted := writ.rarest_first(for_tenant, of_kind, tags, low, high);
    execute 'select t.key from writ.tag t where t.tenant = $1 and t.kind = $2 and t.tag = $3 and t.key >= $4 and t.key < $5
      order by t.key' || direction || ' limit 1 offset $6'
    into bound using for_tenant, of_kind, sorted[1], low, high, examined - 1;
  end if;
  for at in 2 .. cardinality(sorted) loop
    probes := probes || format(
      ' and exists (select from writ.tag u where u.tenant = $1 and u.kind = $2 and u.tag = $7[%s] and u.key = t.key)', at);
  end loop;
  execute 'select array(select t.key from writ.tag t
    where t.tenant = $1 and t.kind = $2 and t.tag = $3 and t.key >= $4 and t.key < $5' || probes || '
    order by t.key' || direction || ' limit $6)'
  into found_keys using for_tenant, of_kind, sorted[1],
    case when is_newest then coalesce(bound, low) else low end,
    case when is_newest then high else coalesce(bound || chr(1), high) end, most, sorted;
  return query
    select r.key, r.version, r.row from unnest(found_keys) with ordinality k (key, at)
    join writ.rows r on r.tenant = for_tenant and r.kind = of_kind and r.key = k.key order by k.at;
  if cardinality(found_keys) < most and bound is not null then
    return query select bound, null::bigint, null::text;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION writ.tagged_fields(of_kind text)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  return case of_kind
    when 'run' then
      '{status,ended_as,principal,project,session,agent,parent,labels,tools,waiting_for}'::text[]
    when 'gate' then '{status,run_id,tool,requester}'::text[]
    when 'doubt' then '{run_id,tool,requester,project,session,waiting_for}'::text[]
    when 'outcome' then '{run_id,type,status,tool,requester,project}'::text[]
    else '{}'::text[] end;
end $function$;

CREATE OR REPLACE FUNCTION writ.tallies(for_tenant text, after_tally text, most bigint)
 RETURNS TABLE(tally text, used double precision)
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select t.tally, t.used from writ.tally t
    where t.tenant = for_tenant and t.tally > after_tally order by t.tally limit most;
end $function$;

CREATE OR REPLACE FUNCTION writ.tell(who text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('writ', who);
end $function$;

CREATE OR REPLACE FUNCTION writ.untimed(for_tenant text, most bigint)
 RETURNS TABLE(run text)
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION writ.used_of(for_tenant text, of_tally text)
 RETURNS double precision
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return (select t.used from writ.tally t where t.tenant = for_tenant and t.tally = of_tally);
end $function$;

CREATE OR REPLACE FUNCTION writ.withdraw_ask(for_tenant text, of_run text, by_worker text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  began text := writ.begin_append(for_tenant, true);
begin
  update writ.lease l set wanted = null, wanted_until = null
  where l.tenant = for_tenant and l.run = of_run and l.wanted = by_worker;
end $function$;

CREATE OR REPLACE FUNCTION writ.workers(given_now bigint)
 RETURNS TABLE(id text, rules text, offers text, about text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query
    select w.id, w.rules, array_to_json(w.offers)::text, w.about from writ.worker w
    where w.until > coalesce(given_now, writ.now_ms()) order by w.id;
end $function$;

CREATE OR REPLACE FUNCTION writ.wrong_tags(for_tenant text, most bigint)
 RETURNS TABLE(kind text, key text)
 LANGUAGE plpgsql
AS $function$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select coalesce(x.kind, t.kind), coalesce(x.key, t.key) from (
      select r.kind, r.key, w.tag from writ.rows r, unnest(writ.row_tags(r.kind, r.row)) w (tag)
      where r.tenant = for_tenant and r.kind in ('run', 'gate', 'doubt', 'outcome')
    ) x
    full join (select * from writ.tag s where s.tenant = for_tenant) t
      on t.kind = x.kind and t.key = x.key and t.tag = x.tag
    where x.key is null or t.key is null limit most;
end $function$;
