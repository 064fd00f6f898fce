export const headsBehindMigration = {
  number: 13,
  name: "0013-heads-behind",
  // The tables stay as they are. An earlier version reads the head from its row alone, so it must not open the file.
  sql: "-- The row of a head may be behind the events of a run that a worker holds.",
};
