export const readsMigration = {
  number: 3,
  name: "0003-reads",
  sql: `
-- Reads are functions because a tenant is set for one transaction, and one call is one transaction.

create function writ.events(for_tenant text, of_run text, after_position bigint, most bigint)
returns table (n bigint, type text, v integer, at bigint, body text, hash bytea, body_hash bytea) language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select e.position, e.type, e.v, e.at, e.body, e.hash, e.body_hash from writ.event e
    where e.tenant = for_tenant and e.run = of_run and e.position > after_position order by e.position limit most;
end $$;

create function writ.head_of(for_tenant text, of_run text) returns table (n bigint, hash bytea) language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select h.position, h.hash from writ.head h where h.tenant = for_tenant and h.run = of_run and h.position > 0;
end $$;

-- Returns the existing rows of these keys, with the numbers of the keys.
create function writ.rows_of(for_tenant text, k_kind text[], k_key text[])
returns table (n bigint, key text, version bigint, text text) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select x.n, r.key, r.version, r.row from unnest(k_kind, k_key) with ordinality x (kind, key, n)
    cross join lateral (
      select * from writ.rows s where s.tenant = for_tenant and s.kind = x.kind and s.key = x.key limit 1
    ) r order by x.n;
end $$;

-- Planned at each call, so that it uses the one index that fits.
create function writ.list(
  for_tenant text, of_kind text, by_field text, equal_to text, after_key text, is_newest boolean, most bigint
) returns table (key text, version bigint, text text) language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query execute
    'select r.key, r.version, r.row from writ.rows r where r.tenant = $1 and r.kind = $2'
    || case when by_field is null then '' else format(' and r.%I = $3', by_field) end
    || case when after_key is null then '' when is_newest then ' and r.key < $4' else ' and r.key > $4' end
    || ' order by r.key' || case when is_newest then ' desc' else '' end || ' limit $5'
  using for_tenant, of_kind, equal_to, after_key, most;
end $$;

create function writ.used_of(for_tenant text, of_tally text) returns double precision language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return (select t.used from writ.tally t where t.tenant = for_tenant and t.tally = of_tally);
end $$;

create function writ.blob_of(for_tenant text, of_hash text) returns bytea language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return (select b.bytes from writ.blob b where b.tenant = for_tenant and b.hash = of_hash);
end $$;

-- Not synced: the next hard append syncs it.
create function writ.put_blob(for_tenant text, of_hash text, all_bytes bytea) returns void language plpgsql as $$
declare
  began text := writ.begin_append(for_tenant, true);
begin
  insert into writ.blob (tenant, hash, bytes) values (for_tenant, of_hash, all_bytes) on conflict do nothing;
end $$;

-- Skips from run to run in the index: reading every event to find its run would take as long as reading the journal.
create function writ.runs(for_tenant text, after_run text, most bigint) returns table (run text) language plpgsql as $$
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
end $$;

create function writ.tallies(for_tenant text, after_tally text, most bigint)
returns table (tally text, used double precision) language plpgsql as $$
declare
  began text := set_config('writ.tenant', for_tenant, true);
begin
  return query
    select t.tally, t.used from writ.tally t
    where t.tenant = for_tenant and t.tally > after_tally order by t.tally limit most;
end $$;

-- Returns null and erases nothing if the position of the run has moved. The head is locked, so that an append happens
-- either before or after the erasure.
create function writ.erase(
  for_tenant text, of_run text, from_position bigint, at_position bigint[], with_hash bytea[], blob_hash text[]
) returns bigint language plpgsql
set enable_seqscan = off
as $$
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
end $$;

-- Returns the number of events of each run, in order: one call for all runs that a worker holds.
create function writ.positions(c_tenant text[], c_run text[]) returns bigint[] language plpgsql set enable_seqscan = off as $$
declare
  began text;
  found bigint[] := array_fill(0::bigint, array[cardinality(c_run)]);
begin
  for i in 1 .. cardinality(c_run) loop
    began := set_config('writ.tenant', c_tenant[i], true);
    found[i] := coalesce((select h.position from writ.head h where h.tenant = c_tenant[i] and h.run = c_run[i]), 0);
  end loop;
  return found;
end $$;
`,
};
