import { tables } from "../../../src/core/store/tables.ts";
import type { TableDump } from "../../../src/store/memory/memory-tables.ts";
import { connectSqlite, type SqliteValue } from "../../../src/store/sqlite/sqlite-driver.ts";

/** Reads all tables of a file on another connection, in the form of the memory store's dump. */
export function openSqliteDump(file: string): { now(): TableDump; close(): void } {
  const db = connectSqlite(file);
  const names = ["event", "head", "tally", "lease", "marker", "sent", "blob", ...tables];
  const order: Readonly<Record<string, string>> = { event: "1, 2, 3", marker: "1, 2, 3, 4" };
  // As in memory, a lease that is held has no end.
  const columns: Readonly<Record<string, string>> = {
    event: "head.tenant, head.run, event.position, type, v, at, body, event.hash, body_hash",
    head: "head.tenant, head.run, last.position, last.hash",
    lease: "tenant, run, epoch, worker, iif(worker is null, 0, null) as until, prior, since",
  };
  const sources: Readonly<Record<string, string>> = {
    event: "event left join head using (journal)",
    // The row of a head may be behind the last event.
    head: "head join event as last on last.journal = head.journal and last.position = (select max(position) from event where journal = head.journal)",
  };
  const selects = names.map(
    (name) =>
      [
        name,
        db.prepare(`select ${columns[name] ?? "*"} from ${sources[name] ?? name} order by ${order[name] ?? "1, 2"}`),
      ] as const,
  );
  const cell = (value: SqliteValue) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value);
  return {
    now: () =>
      Object.fromEntries(
        selects.map(([name, select]) => [
          name,
          select.all().map((row) => Object.values(row as Record<string, SqliteValue>).map(cell)),
        ]),
      ),
    close: () => db.close(),
  };
}
