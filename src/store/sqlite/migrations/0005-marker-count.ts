export const markerCountMigration = {
  number: 5,
  name: "0005-marker-count",
  sql: `
-- How many send markers each run has. A missing marker proves that a tool was not called only if the number agrees.
create table sent (
  tenant text not null,
  run text not null,
  number integer not null,
  primary key (tenant, run)
) strict, without rowid;

insert into sent (tenant, run, number) select tenant, run, count(*) from marker group by tenant, run;
`,
};
