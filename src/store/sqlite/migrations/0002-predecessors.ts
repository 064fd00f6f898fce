export const predecessorsMigration = {
  number: 2,
  name: "0002-predecessors",
  sql: `
-- The worker that held the run before the current claim and did not release it.
alter table lease add column prior text;
`,
};
