export const journalsMigration = {
  number: 6,
  name: "0006-journals",
  sql: `
-- Returns journals after an id, each with its head (null if it has none) and all its events: the first journal, and
-- further ones while they have at most 1000 events together. A run without events is one row with null event columns.
create function writ.journals(for_tenant text, after_run text, most bigint)
returns table (
  run text, head_n bigint, head_hash bytea,
  n bigint, type text, v integer, at bigint, body text, hash bytea, body_hash bytea
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
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
end $$;
`,
};
