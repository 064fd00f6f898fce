export const wantedMigration = {
  number: 7,
  name: "0007-wanted",
  sql: `
-- The worker that asks the holder for the run. When the holder releases it, this worker holds it.
alter table lease add column wanted text;
create index lease_wanted on lease (wanted) where wanted is not null;
`,
};
