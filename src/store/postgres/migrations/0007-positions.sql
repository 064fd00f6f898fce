-- How many events each of these runs has, in their order: one question for all that a worker holds.
create function writ.positions(c_tenant text[], c_run text[]) returns bigint[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
as $$
declare
  for_tenant text;
  found bigint[] := array_fill(0::bigint, array[cardinality(c_run)]);
  one record;
begin
  for for_tenant in select distinct x.tenant from unnest(c_tenant) x (tenant) loop
    perform set_config('writ.tenant', for_tenant, true);
    for one in
      select x.n, h.position from unnest(c_tenant, c_run) with ordinality x (tenant, run, n)
      join writ.head h on h.tenant = for_tenant and h.run = x.run where x.tenant = for_tenant
    loop
      found[one.n] := one.position;
    end loop;
  end loop;
  return found;
end $$;
