import { assertStorableNames } from "../../core/store/check-entry.ts";
import type { Query, Store, StoredEvent, StoredJournal, StoredRow } from "../../core/store/store.ts";
import { indexedRowFields, type Table } from "../../core/store/tables.ts";
import { assert } from "../../core/values/assert.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import { batchPerTick } from "./batch-per-tick.ts";
import { byteArray, int8Array, textArray } from "./binary-array.ts";
import type { FunctionCaller } from "./function-caller.ts";
import { postgresSearches } from "./postgres-searches.ts";

type EventColumns = readonly [
  position: number,
  type: string,
  v: number,
  at: Instant,
  body: string | null,
  hash: Uint8Array,
  body_hash: Uint8Array | null,
];
type RowColumns = readonly [key: string, version: number, row: string];

type HeadColumns = readonly [run: RunId, position: number | null, hash: Uint8Array | null];
/** The event columns of a run that has a head and no events. */
type NoEvent = readonly [null, null, null, null, null, null, null];
type JournalColumns = readonly [...HeadColumns, ...EventColumns] | readonly [...HeadColumns, ...NoEvent];

export function postgresJournalReads(calls: FunctionCaller): Pick<Store, "events" | "journals" | "head" | "erase"> {
  const events = async (tenant: string, run: string, after: number, most?: number): Promise<readonly StoredEvent[]> => {
    assertStorableNames(tenant, run);
    const rows = await calls<EventColumns>({ name: "events", values: [tenant, run, after, most ?? null] });
    return rows.map(toStoredEvent);
  };
  return {
    events,
    journals: async (tenant, after, most) => {
      assertStorableNames(tenant, after);
      return groupJournals(await calls<JournalColumns>({ name: "journals", values: [tenant, after, most] }));
    },
    head: async (tenant, run) => {
      assertStorableNames(tenant, run);
      const [found] = await calls<readonly [number, Uint8Array]>({ name: "head_of", values: [tenant, run] });
      return found === undefined ? null : { position: found[0], hash: found[1] };
    },
    erase: async ({ tenant, run, position: from, keep, blobs }, hashOf) => {
      assertStorableNames(tenant, run, ...blobs);
      const keptPositions = new Set(keep);
      const stored = await events(tenant, run, 0);
      // The function compares the position again. An append in between would leave bodies that were not read.
      if ((stored.at(-1)?.position ?? 0) !== from) return null;
      const bodies = stored.flatMap(({ position, body }) =>
        body === null || keptPositions.has(position) ? [] : [{ position, hash: hashOf(body) }],
      );
      const positions = int8Array(bodies.map(({ position }) => position));
      const hashes = byteArray(bodies.map(({ hash }) => hash));
      const values = [tenant, run, from, positions, hashes, textArray(blobs)];
      const [erased] = await calls<readonly [number | null]>({ name: "erase", values, writes: true });
      return erased?.[0] ?? null;
    },
  };
}

function toStoredEvent([position, type, v, at, body, hash, body_hash]: EventColumns): StoredEvent {
  return { position, type, v, at, body, hash, body_hash };
}

/** Groups rows that are sorted by run and position. */
function groupJournals(rows: readonly JournalColumns[]): readonly StoredJournal[] {
  const journals: (StoredJournal & { readonly events: StoredEvent[] })[] = [];
  for (const [run, position, hash, ...event] of rows) {
    let journal = journals.at(-1);
    if (journal?.run !== run) {
      journal = { run, head: position === null || hash === null ? null : { position, hash }, events: [] };
      journals.push(journal);
    }
    if (event[0] !== null) journal.events.push(toStoredEvent(event));
  }
  return journals;
}

interface RowAddress {
  readonly tenant: Tenant;
  readonly table: Table;
  readonly key: string;
}

export function postgresRowReads(
  calls: FunctionCaller,
): Pick<Store, "row" | "list" | "used" | "runs" | "tallies"> & ReturnType<typeof postgresSearches> {
  const row = batchPerTick<RowAddress, StoredRow | null>(
    ({ key }) => key,
    async (tenant, addresses) => {
      const values = [
        tenant,
        textArray(addresses.map(({ table }) => table)),
        textArray(addresses.map(({ key }) => key)),
      ];
      const found = await calls<readonly [number, ...RowColumns]>({ name: "rows_of", values });
      const rows = new Map(found.map(([number, ...row]) => [number, toStoredRow(row)]));
      return addresses.map((_, index) => rows.get(index + 1) ?? null);
    },
  );
  return {
    ...postgresSearches(calls),
    row: async (tenant, table, key) => {
      assertStorableNames(tenant, key);
      return row({ tenant, table, key });
    },
    list: async (tenant, query) => {
      const { table, where, after, order, limit } = query;
      assertStorableNames(tenant, after ?? "");
      const field = indexedField(query);
      const equals = where === undefined ? null : JSON.stringify(where.equals);
      const values = [tenant, table, field, equals, after ?? null, order === "newest", limit];
      return (await calls<RowColumns>({ name: "list", values })).map(toStoredRow);
    },
    used: async (tenant, tally) => {
      assertStorableNames(tenant, tally);
      const [found] = await calls<readonly [number | null]>({ name: "used_of", values: [tenant, tally] });
      return found?.[0] ?? 0;
    },
    runs: async (tenant, after, most) => {
      assertStorableNames(tenant, after);
      return (await calls<readonly [RunId]>({ name: "runs", values: [tenant, after, most] })).map(([run]) => run);
    },
    tallies: async (tenant, after, most) => {
      assertStorableNames(tenant, after);
      const rows = await calls<readonly [string, number]>({ name: "tallies", values: [tenant, after, most] });
      return rows.map(([tally, used]) => ({ tally, used }));
    },
  };
}

function indexedField({ table, where }: Query): string | null {
  if (where === undefined) return null;
  assert(indexedRowFields[table]?.includes(where.field) === true, `${table} has an index on ${where.field}`);
  return where.field;
}

function toStoredRow([key, version, row]: RowColumns): StoredRow {
  return { key, version, row };
}

export function postgresBlobs(calls: FunctionCaller): Pick<Store, "putBlob" | "blob"> {
  return {
    putBlob: async (tenant, hash, bytes) => {
      assertStorableNames(tenant, hash);
      await calls({ name: "put_blob", values: [tenant, hash, Buffer.from(bytes)] });
    },
    blob: async (tenant, hash) => {
      assertStorableNames(tenant, hash);
      const [found] = await calls<readonly [Uint8Array | null]>({ name: "blob_of", values: [tenant, hash] });
      return found?.[0] ?? null;
    },
  };
}
