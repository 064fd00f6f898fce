export const plainOwnerMigration = {
  number: 9,
  name: "0009-plain-owner",
  sql: `
-- Only a superuser may define a function that sets writ.claiming, so no function sets it any more. The functions that
-- claim across tenants are recognised by their search path, which no other function sets.
do $$
declare
  name text;
  definition text;
begin
  foreach name in array array['head', 'due', 'lease', 'need'] loop
    execute format(
      'alter policy claiming on writ.%I using (current_setting(''search_path'') = ''pg_catalog, pg_temp'')', name);
  end loop;
  -- A store of an earlier version. "alter function ... reset" would need the same privilege; replacing does not.
  for definition in
    select pg_get_functiondef(p.oid) from pg_proc p
    where p.pronamespace = 'writ'::regnamespace and array_to_string(p.proconfig, ' ') like '%writ.claiming%'
  loop
    execute regexp_replace(definition, '^ SET "?writ[.]claiming"? TO ''yes''$', '', 'n');
  end loop;
end $$;
`,
};
