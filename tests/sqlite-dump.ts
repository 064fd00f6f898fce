import { tables } from "../src/core/rows.ts";
import type { Dump } from "../src/store/memory/tables.ts";
import { connect, type Value } from "../src/store/sqlite/driver.ts";

/** Everything in a file, seen by another connection, in the form of the memory store's dump. */
export function dumping(file: string): { now(): Dump; close(): void } {
  const db = connect(file);
  const names = ["event", "head", "tally", "lease", "marker", "blob", ...tables];
  const order: Readonly<Record<string, string>> = { event: "1, 2, 3", marker: "1, 2, 3, 4" };
  const selects = names.map(
    (name) => [name, db.prepare(`select * from ${name} order by ${order[name] ?? "1, 2"}`)] as const,
  );
  const cell = (value: Value) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value);
  return {
    now: () =>
      Object.fromEntries(
        selects.map(([name, select]) => [
          name,
          select.all().map((row) => Object.values(row as Record<string, Value>).map(cell)),
        ]),
      ),
    close: () => db.close(),
  };
}
