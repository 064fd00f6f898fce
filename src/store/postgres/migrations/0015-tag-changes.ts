export const tagChangesMigration = {
  number: 15,
  name: "0015-tag-changes",
  sql: `
-- The fields that become tags: those of taggedRowFields.
create function writ.tagged_fields(of_kind text) returns text[] language plpgsql immutable as $$
begin
  return case of_kind
    when 'run' then
      '{status,ended_as,principal,project,session,agent,parent,labels,tools,waiting_for}'::text[]
    when 'gate' then '{status,run_id,tool,requester}'::text[]
    when 'doubt' then '{run_id,tool,requester,project,session,waiting_for}'::text[]
    when 'outcome' then '{run_id,type,status,tool,requester,project}'::text[]
    else '{}'::text[] end;
end $$;

create function writ.row_fields(of_row text) returns jsonb language plpgsql immutable as $$
begin
  return of_row::jsonb;
exception when invalid_text_representation then
  return '{}'; -- It is not a row of an engine.
end $$;

-- A text is one tag, a list has one for each of its texts.
create function writ.field_tags(of_field text, value jsonb) returns text[] language plpgsql immutable as $$
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
end $$;

create or replace function writ.row_tags(of_kind text, of_row text) returns text[] language plpgsql immutable as $$
declare
  fields jsonb := writ.row_fields(of_row);
  field text;
  tags text[] := '{}';
begin
  foreach field in array writ.tagged_fields(of_kind) loop
    tags := tags || writ.field_tags(field, fields -> field);
  end loop;
  return tags;
end $$;

-- Changes the tags of the fields that have changed. Each tag is found by its whole key: a condition on several tags at
-- once is planned as a scan of all tags of the tenant.
create or replace function writ.note_tags() returns trigger language plpgsql as $$
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
end $$;
`,
};
