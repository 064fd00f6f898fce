export const unneededIndexesMigration = {
  number: 12,
  name: "0012-unneeded-indexes",
  sql: `
-- Tags find these rows, and timer_place finds the next due time. Each index was another page of every new run.
drop index run_status;
drop index gate_status;
drop index gate_run_id;
drop index outcome_run_id;
drop index timer_due_at;
`,
};
