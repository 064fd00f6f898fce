import { describe, expect, it } from "vitest";
import type { AuditReport } from "../../src/engine/api/engine-api.ts";
import { anaPerson, type SqlRow, sqlStoreKinds } from "./engine-fixture.ts";
import { fillStore, TamperedStore, type TamperedTable } from "./tampered-store.ts";

/**
 * Changes that no event can contradict, because leases and the copies of rows that queues use are not facts. None of
 * them can make an act run again (docs/guarantees.md).
 */
const undecidable: readonly string[] = [
  // A higher epoch fences the worker that holds the run. The worker of a lease decides who renews it.
  "lease epoch",
  "lease worker",
  "lease until",
  "lease prior",
  "lease since",
  "lease wanted",
  "lease wanted_until",
  // Eviction raises the epoch of a lease, so a marker may have any epoch up to it. Only the attempt of a marker counts.
  "marker epoch",
  "head epoch",
];

/** On Postgres a lease without a row is a released one; its epoch is in the head. */
const releases: readonly string[] = ["lease row deleted", "lease run", "lease tenant"];

/** A claim of a run that was never accepted, and a blob that no event names: both have no effect. */
const inertInserts: readonly string[] = ["lease", "blob"];

describe.each(sqlStoreKinds)("audit of every table, on $name", ({ name, newFixture }) => {
  it("names the row after every change of a column, every deletion and every insertion", async () => {
    const stage = newFixture();
    await fillStore(stage);
    const auditor = await stage.open({ tools: [], work: false });
    const store = await TamperedStore.of(stage, name === "Postgres");
    expect(store.tables.filter(({ rows }) => rows.length === 0).map((table) => table.name)).toEqual([]);
    const audit = () => auditor.audit({ principal: anaPerson });
    expect(await audit()).toMatchObject({ broken: [], rows: [], tallies: [] });
    const missed: string[] = [];
    const auditChange = async (table: TamperedTable, row: SqlRow, change: string) => {
      const isNamed = findings(await audit()).some((text) =>
        table.names.some((key) => text.includes(String(row[key]))),
      );
      if (!isNamed) missed.push(`${table.name} ${change}`);
      await store.restore(table);
    };
    for (const table of store.tables) {
      const changed = new Map<string, number>();
      for (const row of table.rows) {
        const kind = String(row.kind ?? row.type ?? table.name);
        changed.set(kind, (changed.get(kind) ?? 0) + 1);
        // All rows of a kind are compared alike, so the columns of two of them are enough.
        for (const column of (changed.get(kind) ?? 0) > 2 ? [] : table.columns) {
          await store.update(table, row, column);
          await auditChange(table, row, column.name);
        }
        await store.remove(table, row);
        await auditChange(table, row, "row deleted");
      }
      await store.insert(table, table.rows[0] as SqlRow);
      if (inertInserts.includes(table.name)) await store.restore(table);
      else await auditChange(table, table.rows[0] as SqlRow, "row inserted");
    }
    const isAllowed = (change: string) =>
      undecidable.includes(change) || (name === "Postgres" && releases.includes(change));
    expect(missed.filter((change) => !isAllowed(change))).toEqual([]);
    expect(await audit()).toMatchObject({ broken: [], rows: [], tallies: [] });
  }, 300_000);
});

function findings({ broken, rows, tallies }: AuditReport): readonly string[] {
  return [...broken, ...rows, ...tallies].map((finding) => Object.values(finding).join(" "));
}
