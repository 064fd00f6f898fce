export const workersMigration = {
  number: 6,
  name: "0006-workers",
  sql: `
-- The worker processes of the file. A worker holds its lock file while it lives and changes its beat while it runs.
create table worker (
  id text primary key,
  boot text not null,
  pid integer not null,
  version text not null,
  rules text,
  offers text,
  beat integer not null
) strict, without rowid;

-- A lease ends by release or eviction, never by time. A migration runs alone, so no holder of a lease is alive.
update lease set epoch = epoch + 1, prior = worker, worker = null, since = 0 where worker is not null;
alter table lease drop column until;

-- 1 if another worker asks the holder for the run.
create index lease_worker on lease (worker) where worker is not null;
`,
};
