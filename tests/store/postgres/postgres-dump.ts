import { tables } from "../../../src/core/store/tables.ts";
import type { TableDump } from "../../../src/store/memory/memory-tables.ts";
import type { TestDatabase } from "./test-database.ts";

/** For each table of the dump: its columns, its source and its order. */
const selects: Readonly<Record<string, readonly [columns: string, from: string, order: string]>> = {
  event: [
    "tenant, run, position, type, v, at, body, encode(hash, 'hex'), encode(body_hash, 'hex')",
    "writ.event",
    "tenant, run, position",
  ],
  head: ["tenant, run, position, encode(hash, 'hex')", "writ.head where position > 0", "tenant, run"],
  tally: ["tenant, tally, used", "writ.tally", "tenant, tally"],
  // A released run keeps its epoch and has no worker.
  lease: [
    "tenant, run, h.epoch, l.worker, coalesce(l.until, 0), l.prior, coalesce(l.since, 0)",
    "writ.head h left join writ.lease l using (tenant, run) where h.epoch is not null",
    "tenant, run",
  ],
  marker: ["tenant, run, step, attempt, epoch", "writ.marker", "tenant, run, step, attempt"],
  sent: ["tenant, run, number", "writ.sent", "tenant, run"],
  blob: ["tenant, hash, encode(bytes, 'hex')", "writ.blob", "tenant, hash"],
  ...Object.fromEntries(
    tables.map((table) => [
      table,
      ["tenant, key, version, row", `writ.rows where kind = '${table}'`, "tenant, key"] as const,
    ]),
  ),
};

const all = Object.entries(selects).map(
  ([name, [columns, from, order]]) =>
    `'${name}', (select coalesce(json_agg(json_build_array(${columns}) order by ${order}), '[]') from ${from})`,
);

/** Returns the content of all tables, read on another connection, in the form of the memory store's dump. */
export async function dumpPostgres({ query }: Pick<TestDatabase, "query">): Promise<TableDump> {
  const [answer] = await query<[TableDump]>(`select json_build_object(${all.join(", ")})`);
  if (answer === undefined) throw new Error("the dump returned no row");
  return answer[0];
}
