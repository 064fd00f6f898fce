export const rowTagsMigration = {
  number: 13,
  name: "0013-row-tags",
  sql: `
-- The tags of rows (core/store/row-tags.ts). A search reads one tag in the order of keys, and looks others up.
create table writ.tag (
  tenant text collate "C" not null,
  kind text collate "C" not null,
  tag text collate "C" not null,
  key text collate "C" not null,
  primary key (tenant, kind, tag, key)
);

-- The runs whose rows an older version wrote. Workers fold them again in pieces.
create table writ.outdated (
  tenant text collate "C" not null,
  run text collate "C" not null,
  primary key (tenant, run)
);

-- The fields that become tags: those of taggedRowFields.
create function writ.row_tags(of_kind text, of_row text) returns text[] language plpgsql immutable as $$
begin
  return (select coalesce(array_agg(distinct f.name || '=' || v.value), '{}')
  from (select of_row::jsonb as fields) r
  cross join unnest(case of_kind
    when 'run' then array['status', 'ended_as', 'principal', 'project', 'session', 'agent', 'parent', 'labels', 'tools', 'waiting_for']
    when 'gate' then array['status', 'run_id', 'tool', 'requester']
    when 'doubt' then array['run_id', 'tool', 'requester', 'project', 'session', 'waiting_for']
    when 'outcome' then array['run_id', 'type', 'status', 'tool', 'requester', 'project']
    else array[]::text[] end) f (name)
  cross join lateral jsonb_path_query(r.fields -> f.name, 'lax $[*] ? (@.type() == "string")') e (value)
  cross join lateral (select e.value #>> '{}') v (value));
exception when invalid_text_representation then
  return '{}'; -- It is not a row of an engine.
end $$;

create function writ.note_tags() returns trigger language plpgsql as $$
declare
  before text[] := '{}';
  after text[] := '{}';
begin
  if tg_op <> 'INSERT' then
    before := writ.row_tags(old.kind, old.row);
  end if;
  if tg_op <> 'DELETE' then
    after := writ.row_tags(new.kind, new.row);
  end if;
  if tg_op <> 'INSERT' and not before <@ after then
    delete from writ.tag t
    where t.tenant = old.tenant and t.kind = old.kind and t.key = old.key
      and t.tag = any(array(select unnest(before) except select unnest(after)));
  end if;
  if tg_op <> 'DELETE' and not after <@ before then
    insert into writ.tag (tenant, kind, tag, key)
    select new.tenant, new.kind, x.tag, new.key
    from (select unnest(after) except select unnest(before)) x (tag)
    on conflict do nothing;
  end if;
  return null;
end $$;

create trigger tags_added after insert on writ.rows for each row
when (new.kind in ('run', 'gate', 'doubt', 'outcome')) execute function writ.note_tags();
create trigger tags_changed after update of row on writ.rows for each row
when (new.kind in ('run', 'gate', 'doubt', 'outcome')) execute function writ.note_tags();
create trigger tags_removed after delete on writ.rows for each row
when (old.kind in ('run', 'gate', 'doubt', 'outcome')) execute function writ.note_tags();

-- Forced row level security hides all rows from a plain owner.
alter table writ.rows no force row level security;
insert into writ.tag (tenant, kind, tag, key)
select r.tenant, r.kind, x.tag, r.key from writ.rows r, unnest(writ.row_tags(r.kind, r.row)) x (tag)
where r.kind in ('run', 'gate', 'outcome');
insert into writ.outdated (tenant, run) select r.tenant, r.key from writ.rows r where r.kind = 'run';
alter table writ.rows force row level security;

alter table writ.tag enable row level security, force row level security;
create policy own_tenant on writ.tag using (tenant = current_setting('writ.tenant', true));
alter table writ.outdated enable row level security, force row level security;
create policy own_tenant on writ.outdated using (tenant = current_setting('writ.tenant', true));
create policy claiming on writ.outdated to current_user using (current_setting('search_path') = 'pg_catalog, pg_temp');

create function writ.outdated_runs(most bigint) returns table (tenant text, run text)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select o.tenant, o.run from writ.outdated o order by o.tenant, o.run limit most
$$;

create function writ.mark_refolded(for_tenant text, of_run text) returns void language plpgsql as $$
declare
  began text := writ.begin_append(for_tenant, true);
begin
  delete from writ.outdated o where o.tenant = for_tenant and o.run = of_run;
end $$;

-- Returns the tags, first the one with the fewest entries in the range, as far as that is cheap to know.
create function writ.rarest_first(for_tenant text, of_kind text, tags text[], low text, high text)
returns text[] language sql stable as $$
  select array_agg(x.tag order by x.entries) from (
    select w.tag, (
      select count(*) from (
        select from writ.tag t
        where t.tenant = for_tenant and t.kind = of_kind and t.tag = w.tag and t.key >= low and t.key < high limit 1000
      ) c
    ) as entries from unnest(tags) w (tag)
  ) x
$$;

-- Searches rows by tags, from low on and before high. Reads at most \`examined\` entries of the rarest tag. The last row
-- has no version: its key is where the search goes on, or null.
create function writ.search(
  for_tenant text, of_kind text, tags text[], low text, high text, is_newest boolean, most bigint, examined bigint
)
returns table (key text, version bigint, text text) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
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
end $$;

create function writ.count_rows(for_tenant text, of_kind text, tags text[], low text, high text, most bigint)
returns bigint language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
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
end $$;

-- Returns the rows that lack a tag or have one too many.
create function writ.wrong_tags(for_tenant text, most bigint)
returns table (kind text, key text) language plpgsql
as $$
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
end $$;
`,
};
