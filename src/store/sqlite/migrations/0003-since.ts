export const sinceMigration = {
  number: 3,
  name: "0003-since",
  sql: `
-- The time of the claim.
alter table lease add column since integer not null default 0;
`,
};
