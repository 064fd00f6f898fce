import type { RunId, Tenant, WorkerId } from "../../core/id.ts";
import { type View, versionAfter } from "../../core/judge.ts";
import { type Table, tables } from "../../core/rows.ts";
import type { Entry, StoredEvent, StoredRow } from "../../core/store.ts";
import { Shelf } from "./shelf.ts";

export interface Lease {
  readonly epoch: number;
  /** Null: nobody holds it, and the epoch is only remembered. */
  readonly worker: WorkerId | null;
  readonly until: number;
  /** Who held it before and never gave it back. */
  readonly prior: WorkerId | null;
  readonly since: number;
}

/** Every table's rows by name; bytes as hex. What two stores must agree on to the last character. */
export type Dump = Readonly<Record<string, readonly (readonly (string | number | null)[])[]>>;

/** What a store keeps, without the rules of when it may be written. */
export class Tables implements View {
  readonly events = new Shelf<StoredEvent[]>();
  readonly tallies = new Shelf<number>();
  readonly leases = new Shelf<Lease>();
  readonly markers = new Shelf<number>();
  readonly blobs = new Shelf<Uint8Array>();
  readonly #rows = new Map<Table, Shelf<StoredRow>>(tables.map((table) => [table, new Shelf()]));

  rows(table: Table): Shelf<StoredRow> {
    return this.#rows.get(table) as Shelf<StoredRow>;
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

  /** Writes an entry that was judged. */
  write({ tenant, run, events, puts, charges }: Entry): void {
    if (events.length > 0) {
      const kept = this.events.get(tenant, run) ?? [];
      for (const event of events) kept.push({ ...event, body_hash: null });
      this.events.set([tenant, run], kept);
    }
    for (const put of puts) {
      const { table, key, row } = put;
      if (row === null) this.rows(table).remove(tenant, key);
      else this.rows(table).set([tenant, key], { key, version: versionAfter(put), row });
    }
    for (const { tally, amount } of charges) this.tallies.set([tenant, tally], this.used(tenant, tally) + amount);
  }

  dump(): Dump {
    const events = this.events.sorted();
    return {
      event: events.flatMap(([path, kept]) => kept.map((event) => [...path, ...columns(event)])),
      head: events.map(([path, kept]) => [...path, kept.length, hex(kept.at(-1)?.hash ?? null)]),
      tally: this.tallies.sorted().map(([path, used]) => [...path, used]),
      lease: this.leases
        .sorted()
        .map(([path, { epoch, worker, until, prior, since }]) => [...path, epoch, worker, until, prior, since]),
      marker: this.markers.sorted().map(([path, epoch]) => [...path, epoch]),
      blob: this.blobs.sorted().map(([path, bytes]) => [...path, hex(bytes)]),
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

function columns({ position, type, v, at, body, hash, body_hash }: StoredEvent): readonly (string | number | null)[] {
  return [position, type, v, at, body, hex(hash), hex(body_hash)];
}

const hex = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString("hex"));
