export const glancesMigration = {
  number: 7,
  name: "0007-glances",
  sql: `
-- Checks that rows of the tenant, or of the tenant that all share, still have the versions that were read. The rows are
-- not locked, so that a transaction that changes them does not wait. Fails with WR003 if one has changed; nothing was
-- written.
create function writ.heed(g_tenant text[], g_kind text[], g_key text[], g_was bigint[]) returns boolean language plpgsql as $$
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
end $$;

create function writ.append_one_heeding(
  g_tenant text[], g_kind text[], g_key text[], g_was bigint[],
  for_tenant text, is_soft boolean, of_run text, from_position bigint, under_epoch bigint,
  event_type text, event_v integer, event_at bigint, event_body text, event_hash bytea,
  put_kind text, put_key text, put_was bigint, put_row text,
  charge_tally text, charge_amount double precision, charge_limit double precision
) returns boolean language plpgsql as $$
declare
  heeded boolean := writ.heed(g_tenant, g_kind, g_key, g_was);
begin
  return writ.append_one(
    for_tenant, is_soft, of_run, from_position, under_epoch, event_type, event_v, event_at, event_body, event_hash,
    put_kind, put_key, put_was, put_row, charge_tally, charge_amount, charge_limit);
end $$;

create function writ.append_heeding(
  g_tenant text[], g_kind text[], g_key text[], g_was bigint[],
  for_tenant text, is_soft boolean,
  e_run text[], e_position bigint[], e_epoch bigint[], e_head bigint[], e_hash bytea[],
  e_worker text[], lease_ms bigint, given_now bigint,
  v_entry integer[], v_position bigint[], v_type text[], v_v integer[], v_at bigint[], v_body text[], v_hash bytea[],
  k_kind text[], k_key text[], k_put boolean[],
  c_entry integer[], c_key integer[], c_was bigint[],
  p_entry integer[], p_key integer[], p_version bigint[], p_row text[],
  p_status text[], p_run_id text[], p_reuse_key text[], p_due_at text[], p_due bigint[], p_queue text[], p_rank bigint[],
  t_tally text[], g_entry integer[], g_tally integer[], g_amount double precision[], g_limit double precision[]
) returns jsonb language plpgsql as $$
declare
  heeded boolean := writ.heed(g_tenant, g_kind, g_key, g_was);
begin
  return writ.append(
    for_tenant, is_soft, e_run, e_position, e_epoch, e_head, e_hash, e_worker, lease_ms, given_now,
    v_entry, v_position, v_type, v_v, v_at, v_body, v_hash, k_kind, k_key, k_put, c_entry, c_key, c_was,
    p_entry, p_key, p_version, p_row, p_status, p_run_id, p_reuse_key, p_due_at, p_due, p_queue, p_rank,
    t_tally, g_entry, g_tally, g_amount, g_limit);
end $$;
`,
};
