import { assert } from "../../core/assert.ts";
import type { Instant, RunId, Tenant } from "../../core/id.ts";
import { assertNames } from "../../core/judge.ts";
import { indexed, type Table } from "../../core/rows.ts";
import type { Query, Store, StoredEvent, StoredJournal, StoredRow } from "../../core/store.ts";
import { bytes, longs, texts } from "./binary-array.ts";
import type { Calls } from "./calls.ts";
import { gathered } from "./gathered.ts";

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
/** Of a run that has a head and nothing else. */
type NoEvent = readonly [null, null, null, null, null, null, null];
type JournalColumns = readonly [...HeadColumns, ...EventColumns] | readonly [...HeadColumns, ...NoEvent];

export function journalReads(calls: Calls): Pick<Store, "events" | "journals" | "head" | "positions" | "erase"> {
  const events = async (tenant: string, run: string, after: number, most?: number): Promise<readonly StoredEvent[]> => {
    assertNames(tenant, run);
    const rows = await calls<EventColumns>({ name: "events", values: [tenant, run, after, most ?? null] });
    return rows.map(storedEvent);
  };
  return {
    events,
    journals: async (tenant, after, most) => {
      assertNames(tenant, after);
      return journalsIn(await calls<JournalColumns>({ name: "journals", values: [tenant, after, most] }));
    },
    head: async (tenant, run) => {
      assertNames(tenant, run);
      const [found] = await calls<readonly [number, Uint8Array]>({ name: "head_of", values: [tenant, run] });
      return found === undefined ? null : { position: found[0], hash: found[1] };
    },
    positions: async (runs) => {
      for (const { tenant, run } of runs) assertNames(tenant, run);
      if (runs.length === 0) return [];
      const values = [texts(runs.map(({ tenant }) => tenant)), texts(runs.map(({ run }) => run))];
      const [found] = await calls<readonly [readonly number[]]>({ name: "positions", values });
      return found?.[0] ?? [];
    },
    erase: async ({ tenant, run, position: from, keep, blobs }, hashOf) => {
      assertNames(tenant, run, ...blobs);
      const spared = new Set(keep);
      const bodies = (await events(tenant, run, 0)).flatMap(({ position, body }) =>
        body === null || spared.has(position) ? [] : [{ position, hash: hashOf(body) }],
      );
      const positions = longs(bodies.map(({ position }) => position));
      const hashes = bytes(bodies.map(({ hash }) => hash));
      const values = [tenant, run, from, positions, hashes, texts(blobs)];
      const [erased] = await calls<readonly [number | null]>({ name: "erase", values, writes: true });
      return erased?.[0] ?? null;
    },
  };
}

function storedEvent([position, type, v, at, body, hash, body_hash]: EventColumns): StoredEvent {
  return { position, type, v, at, body, hash, body_hash };
}

/** One after the other, their events in order. */
function journalsIn(rows: readonly JournalColumns[]): readonly StoredJournal[] {
  const journals: (StoredJournal & { readonly events: StoredEvent[] })[] = [];
  for (const [run, position, hash, ...event] of rows) {
    let journal = journals.at(-1);
    if (journal?.run !== run) {
      journal = { run, head: position === null || hash === null ? null : { position, hash }, events: [] };
      journals.push(journal);
    }
    if (event[0] !== null) journal.events.push(storedEvent(event));
  }
  return journals;
}

interface RowAddress {
  readonly tenant: Tenant;
  readonly table: Table;
  readonly key: string;
}

export function rowReads(calls: Calls): Pick<Store, "row" | "list" | "used" | "runs" | "tallies"> {
  const row = gathered<RowAddress, StoredRow | null>(
    ({ key }) => key,
    async (tenant, all) => {
      const values = [tenant, texts(all.map(({ table }) => table)), texts(all.map(({ key }) => key))];
      const found = await calls<readonly [number, ...RowColumns]>({ name: "rows_of", values });
      const rows = new Map(found.map(([number, ...row]) => [number, storedRow(row)]));
      return all.map((_, index) => rows.get(index + 1) ?? null);
    },
  );
  return {
    row: async (tenant, table, key) => {
      assertNames(tenant, key);
      return row({ tenant, table, key });
    },
    list: async (tenant, query) => {
      const { table, where, after, order, limit } = query;
      assertNames(tenant, after ?? "");
      const field = fieldOf(query);
      const equals = where === undefined ? null : JSON.stringify(where.equals);
      const values = [tenant, table, field, equals, after ?? null, order === "newest", limit];
      return (await calls<RowColumns>({ name: "list", values })).map(storedRow);
    },
    used: async (tenant, tally) => {
      assertNames(tenant, tally);
      const [found] = await calls<readonly [number | null]>({ name: "used_of", values: [tenant, tally] });
      return found?.[0] ?? 0;
    },
    runs: async (tenant, after, most) => {
      assertNames(tenant, after);
      return (await calls<readonly [RunId]>({ name: "runs", values: [tenant, after, most] })).map(([run]) => run);
    },
    tallies: async (tenant, after, most) => {
      assertNames(tenant, after);
      const rows = await calls<readonly [string, number]>({ name: "tallies", values: [tenant, after, most] });
      return rows.map(([tally, used]) => ({ tally, used }));
    },
  };
}

function fieldOf({ table, where }: Query): string | null {
  if (where === undefined) return null;
  assert(indexed[table]?.includes(where.field) === true, `${table} can be asked for ${where.field}`);
  return where.field;
}

function storedRow([key, version, row]: RowColumns): StoredRow {
  return { key, version, row };
}

export function blobs(calls: Calls): Pick<Store, "putBlob" | "blob"> {
  return {
    putBlob: async (tenant, hash, all) => {
      assertNames(tenant, hash);
      await calls({ name: "put_blob", values: [tenant, hash, Buffer.from(all)] });
    },
    blob: async (tenant, hash) => {
      assertNames(tenant, hash);
      const [found] = await calls<readonly [Uint8Array | null]>({ name: "blob_of", values: [tenant, hash] });
      return found?.[0] ?? null;
    },
  };
}
