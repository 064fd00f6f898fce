import { type AppendView, rowVersionAfter } from "../../core/store/check-entry.ts";
import type { Entry, LiveWorker, StoredEvent, StoredRow } from "../../core/store/store.ts";
import { type Table, tables } from "../../core/store/tables.ts";
import type { RunId, Tenant, WorkerId } from "../../core/values/ids.ts";
import { SortedTable } from "./sorted-table.ts";

export interface MemoryLease {
  readonly epoch: number;
  /** Null if no worker holds the run; the lease then only stores the epoch. */
  readonly worker: WorkerId | null;
  /** Null: the lease does not end by time. */
  readonly until: number | null;
  /** The worker that held the run before and did not release it. */
  readonly prior: WorkerId | null;
  readonly since: number;
  /** The worker that asks for the run, and the time until which it does. */
  readonly ask: { readonly by: WorkerId; readonly until: number | null } | null;
}

/** A worker that has registered or claimed due runs. */
export interface MemoryWorker extends Pick<LiveWorker, "rules" | "offers"> {
  /** The time until which it counts as live. Null: until it is evicted. */
  readonly until: number | null;
}

/** The rows of every table, with bytes as hex. Two stores with the same data have equal dumps. */
export type TableDump = Readonly<Record<string, readonly (readonly (string | number | null)[])[]>>;

/** The data of the memory store, without the conditions of an append. */
export class MemoryTables implements AppendView {
  readonly events = new SortedTable<StoredEvent[]>();
  readonly tallies = new SortedTable<number>();
  readonly leases = new SortedTable<MemoryLease>();
  readonly markers = new SortedTable<number>();
  /** How many markers each run has. */
  readonly sent = new SortedTable<number>();
  readonly blobs = new SortedTable<Uint8Array>();
  readonly workers = new Map<WorkerId, MemoryWorker>();
  readonly #rows = new Map<Table, SortedTable<StoredRow>>(tables.map((table) => [table, new SortedTable()]));

  rows(table: Table): SortedTable<StoredRow> {
    return this.#rows.get(table) as SortedTable<StoredRow>;
  }

  epoch(tenant: Tenant, run: RunId): number | null {
    return this.leases.get(tenant, run)?.epoch ?? null;
  }

  position(tenant: Tenant, run: RunId): number {
    return this.events.get(tenant, run)?.length ?? 0;
  }

  hash(tenant: Tenant, run: RunId, position: number): Uint8Array | null {
    return this.events.get(tenant, run)?.[position - 1]?.hash ?? null;
  }

  row(tenant: Tenant, table: Table, key: string): StoredRow | null {
    return this.rows(table).get(tenant, key) ?? null;
  }

  used(tenant: Tenant, tally: string): number {
    return this.tallies.get(tenant, tally) ?? 0;
  }

  /** Writes an entry whose conditions hold. */
  write({ tenant, run, events, puts, charges }: Entry): void {
    if (events.length > 0) {
      const stored = this.events.get(tenant, run) ?? [];
      for (const { position, type, v, at, body, hash } of events)
        stored.push({ position, type, v, at, body, hash, body_hash: null });
      this.events.set([tenant, run], stored);
    }
    for (const put of puts) {
      const { table, key, row } = put;
      if (row === null) this.rows(table).remove(tenant, key);
      else this.rows(table).set([tenant, key], { key, version: rowVersionAfter(put), row });
    }
    for (const { tally, amount } of charges) this.tallies.set([tenant, tally], this.used(tenant, tally) + amount);
  }

  dump(): TableDump {
    const events = this.events.sorted();
    return {
      event: events.flatMap(([path, stored]) => stored.map((event) => [...path, ...eventColumns(event)])),
      head: events.map(([path, stored]) => [...path, stored.length, toHex(stored.at(-1)?.hash ?? null)]),
      tally: this.tallies.sorted().map(([path, used]) => [...path, used]),
      lease: this.leases
        .sorted()
        .map(([path, { epoch, worker, until, prior, since }]) => [...path, epoch, worker, until, prior, since]),
      marker: this.markers.sorted().map(([path, epoch]) => [...path, epoch]),
      sent: this.sent.sorted().map(([path, number]) => [...path, number]),
      blob: this.blobs.sorted().map(([path, bytes]) => [...path, toHex(bytes)]),
      ...Object.fromEntries(
        tables.map((table) => [
          table,
          this.rows(table)
            .sorted()
            .map(([path, { version, row }]) => [...path, version, row]),
        ]),
      ),
    };
  }
}

function eventColumns({
  position,
  type,
  v,
  at,
  body,
  hash,
  body_hash,
}: StoredEvent): readonly (string | number | null)[] {
  return [position, type, v, at, body, toHex(hash), toHex(body_hash)];
}

const toHex = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString("hex"));
