export const asksMigration = {
  number: 12,
  name: "0012-asks",
  sql: `
-- What each worker offers, and about its process: its version, host and id, as JSON.
alter table writ.worker add column offers text[], add column about text;
alter table writ.worker alter column rules drop not null;

-- The worker that asks the holder for the run, and the time until which it does.
alter table writ.lease add column wanted text, add column wanted_until bigint;

drop function writ.claim_some(text, bigint, bigint, bigint, text[], text[], bigint[], bigint, text[], text);
drop function writ.note_worker(text, text, bigint, bigint);
drop function writ.release(text, text[], text[], bigint[]);
drop function writ.positions(text[], text[]);

-- Registers a worker until its lease would expire, and returns the rules of other live workers that it does not have.
-- The row is written only if half of that time has passed. Rows of workers that are gone are removed on the way.
create function writ.note_worker(
  by_worker text, its_rules text, offered text[], its_process text, lease_ms bigint, given_now bigint
)
returns text[] language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
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
end $$;

-- A worker that claims no more runs, and may still hold some.
create function writ.retire_worker(by_worker text) returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update writ.worker w set rules = null, offers = null where w.id = by_worker;
end $$;

create function writ.workers(given_now bigint)
returns table (id text, rules text, offers text, about text) language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select w.id, w.rules, array_to_json(w.offers)::text, w.about from writ.worker w
    where w.until > coalesce(given_now, writ.now_ms()) order by w.id;
end $$;

create function writ.claim_some(
  by_worker text, most bigint, lease_ms bigint, given_now bigint,
  of_queues text[], l_queue text[], l_most bigint[], per_tenant bigint, offered text[], its_rules text, its_process text
)
returns table (tenant text, run text, epoch bigint) language plpgsql as $$
declare
  elsewhere text[] := writ.note_worker(by_worker, its_rules, offered, its_process, lease_ms, given_now);
  taken bigint;
begin
  return query select c.tenant, c.run, c.epoch
    from writ.claim_due(by_worker, most, lease_ms, given_now, of_queues, l_queue, l_most, per_tenant, elsewhere) c;
  get diagnostics taken = row_count;
  if taken < most and offered is not null then
    return query select c.tenant, c.run, c.epoch from writ.claim_needed(
      by_worker, most - taken, lease_ms, given_now, of_queues, l_queue, l_most, per_tenant, offered, elsewhere) c;
  end if;
end $$;

-- Asks the holder of a run for it, and returns whether another worker holds the run. The holder is notified.
create function writ.ask(for_tenant text, of_run text, by_worker text, lease_ms bigint, given_now bigint)
returns boolean language plpgsql as $$
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
end $$;

create function writ.withdraw_ask(for_tenant text, of_run text, by_worker text) returns void language plpgsql as $$
declare
  began text := writ.begin_append(for_tenant, true);
begin
  update writ.lease l set wanted = null, wanted_until = null
  where l.tenant = for_tenant and l.run = of_run and l.wanted = by_worker;
end $$;

-- Releases runs, or gives each to the worker that asks for it: then the epoch moves when that worker claims the run.
-- The claims are sorted by run.
create function writ.release(
  for_tenant text, c_run text[], c_worker text[], c_epoch bigint[], lease_ms bigint, given_now bigint
)
returns void language plpgsql set enable_seqscan = off as $$
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
end $$;

-- Returns the number of events of each run, and whether another worker asks for it, in order: one call for all runs
-- that a worker holds.
create function writ.held_runs(
  c_tenant text[], c_run text[], c_worker text[], c_epoch bigint[], given_now bigint
)
returns table (n_events bigint, is_wanted boolean) language plpgsql set enable_seqscan = off as $$
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
end $$;
`,
};
