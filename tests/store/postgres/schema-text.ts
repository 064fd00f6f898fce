import type { TestDatabase } from "./test-database.ts";

/** Returns the migrated schema as text that can be compared: tables, indexes, policies and functions. */
export async function schemaText({ query }: Pick<TestDatabase, "query">): Promise<string> {
  const tables = await query<[string, string]>(
    `select c.relname, format('create %stable writ.%s (%s)%s%s;',
       case c.relpersistence when 'u' then 'unlogged ' else '' end, c.relname,
       (select string_agg(format(E'\\n  %s %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
          case when l.collname = 'C' then ' collate "C"' else '' end, case when a.attnotnull then ' not null' else '' end,
          coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')), ',' order by a.attnum)
        from pg_attribute a left join pg_collation l on l.oid = a.attcollation
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
       || coalesce((select string_agg(E',\\n  ' || pg_get_constraintdef(k.oid), '' order by k.conname)
                    from pg_constraint k where k.conrelid = c.oid and k.contype <> 'n'), '') || E'\\n',
       coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', ''),
       case when c.relrowsecurity and c.relforcerowsecurity then ' -- row level security forced' else '' end)
     from pg_class c where c.relnamespace = 'writ'::regnamespace and c.relkind = 'r' order by c.relname`,
  );
  const indexes = await query<[string, string]>(
    `select tablename, indexdef || ';' from pg_indexes where schemaname = 'writ' and indexname not like '%_pkey' order by indexname`,
  );
  const policies = await query<[string, string]>(
    `select tablename, format('create policy %s on writ.%s to %s using (%s)%s;', policyname, tablename,
       case when roles = '{public}' then 'public' else 'the owner' end, qual, coalesce(' with check (' || with_check || ')', ''))
     from pg_policies where schemaname = 'writ' order by policyname`,
  );
  const functions = await query<[string]>(
    `select trim(both E'\\n' from pg_get_functiondef(oid)) || ';' from pg_proc
     where pronamespace = 'writ'::regnamespace order by proname`,
  );
  const parts = tables.map(([table, text]) =>
    [text, ...[...indexes, ...policies].filter(([of]) => of === table).map(([, line]) => line)].join("\n"),
  );
  return `${[...parts, ...functions.flat()].join("\n\n")}\n`;
}
