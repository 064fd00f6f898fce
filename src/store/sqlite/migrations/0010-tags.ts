export const tagsMigration = {
  number: 10,
  name: "0010-tags",
  sql: `
-- The acts in doubt, as lists show them.
create table doubt (
  tenant text not null,
  key text not null,
  version integer not null,
  row text not null,
  primary key (tenant, key)
) strict, without rowid;

-- The tags of rows (core/store/row-tags.ts). A search reads one tag in the order of keys, and looks others up.
create table tag (
  tenant text not null,
  kind text not null,
  tag text not null,
  key text not null,
  primary key (tenant, kind, tag, key)
) strict, without rowid;

insert into tag select tenant, 'run', name || '=' || (row ->> name), key
from run, (select 'status' as name union select 'ended_as' union select 'principal') where row ->> name is not null;
insert into tag select tenant, 'gate', name || '=' || (row ->> name), key
from gate, (select 'status' as name union select 'run_id' union select 'tool' union select 'requester')
where row ->> name is not null;
insert into tag select tenant, 'outcome', name || '=' || (row ->> name), key
from outcome, (select 'status' as name union select 'run_id' union select 'tool' union select 'type')
where row ->> name is not null;

-- The runs whose rows an older version wrote. Workers fold them again in pieces.
create table outdated (
  tenant text not null,
  run text not null,
  primary key (tenant, run)
) strict, without rowid;

insert into outdated select tenant, key from run;
`,
};
