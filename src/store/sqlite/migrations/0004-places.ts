export const placesMigration = {
  number: 4,
  name: "0004-places",
  sql: `
-- The index that a claim scans: by tenant, queue and rank (the lowest first), and within them the longest due first.
create index timer_place on timer (tenant, coalesce(row ->> 'queue', 'default'), -coalesce(row ->> 'priority', 0), row ->> 'due_at')
where row ->> 'due_at' is not null;

-- The needs of runs. There are few distinct texts.
create index timer_needs on timer (row ->> 'needs') where row ->> 'needs' is not null;
`,
};
