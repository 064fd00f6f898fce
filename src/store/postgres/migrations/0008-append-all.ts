export const appendAllMigration = {
  number: 8,
  name: "0008-append-all",
  sql: `
-- Appends entries of one tenant that touch no common run or row. Either all land or nothing is written (WR001, or WR003
-- for an unlocked check), and append finds the reason. The conditions are part of the writes, so nothing is read
-- first, which halves the work of append. The entries have no charges and no rows that are only checked.
--
-- An update is an insert that must conflict: it finds the row by its whole key, while a join would depend on the
-- planner's estimates. A marker value shows whether the insert did not conflict. Locks are taken in the order of
-- append: heads, existing rows, new keys last.
create function writ.append_all(
  g_tenant text[], g_kind text[], g_key text[], g_was bigint[],
  for_tenant text, is_soft boolean,
  -- Existing runs.
  e_run text[], e_position bigint[], e_epoch bigint[], e_head bigint[], e_hash bytea[],
  -- New runs, and the workers that claim them.
  b_run text[], b_head bigint[], b_hash bytea[], b_worker text[], lease_ms bigint, given_now bigint,
  -- Updates (version 0 replaces any version, another version replaces the one before it), inserts and deletes of rows.
  o_kind text[], o_key text[], o_version bigint[], o_row text[],
  o_status text[], o_run_id text[], o_reuse_key text[], o_due_at text[],
  n_kind text[], n_key text[], n_row text[], n_status text[], n_run_id text[], n_reuse_key text[], n_due_at text[],
  d_kind text[], d_key text[],
  -- Timers: the runs whose timer is set, and the runs whose timer is removed.
  t_run text[], t_due bigint[], t_queue text[], t_rank bigint[], s_run text[],
  v_run text[], v_position bigint[], v_type text[], v_v integer[], v_at bigint[], v_body text[], v_hash bytea[]
) returns boolean language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
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
end $$;
`,
};
