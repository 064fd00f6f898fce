export const runToolsMigration = {
  number: 11,
  name: "0011-run-tools",
  sql: `
-- Timer rows now contain the tools of their runs. Workers fold the runs again in pieces.
insert or ignore into outdated select tenant, key from timer where key in (select key from run);
`,
};
