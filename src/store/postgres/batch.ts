import { assert } from "../../core/assert.ts";
import type { Instant, RunId, Tenant, WorkerId } from "../../core/id.ts";
import { versionAfter } from "../../core/judge.ts";
import { indexed, type Table } from "../../core/rows.ts";
import { type Charge, type Check, type Entry, ownerOf, type Put, type SealedEvent } from "../../core/store.ts";
import { booleans, bytes, doubles, integers, longs, texts } from "./binary-array.ts";
import type { Call } from "./calls.ts";

/** Entries of one tenant in the order in which `writ.append` locks and numbers them. */
export interface Batch {
  readonly entries: readonly Entry[];
  readonly keys: readonly RowKey[];
  readonly tallies: readonly string[];
  readonly claims: Claims;
}

/** Who claims which of the runs that begin, for how long, and by whose time; null: the server's. */
export interface Claims {
  readonly workers: ReadonlyMap<RunId, WorkerId>;
  readonly leaseMs: number;
  readonly now: Instant | null;
}

const noClaims: Claims = { workers: new Map(), leaseMs: 0, now: null };

export interface RowKey {
  readonly table: Table;
  readonly key: string;
  /** Whether it is written, not only checked. */
  readonly isPut: boolean;
}

/** Everything sorted: that all batches lock in one order is what keeps them from waiting for each other in a circle. */
export function batchOf(entries: readonly Entry[], claims = noClaims): Batch {
  return {
    entries: entries.toSorted((left, right) => compare(left.run, right.run)),
    keys: keysOf(entries).toSorted((left, right) => compare(left.table, right.table) || compare(left.key, right.key)),
    tallies: [...new Set(entries.flatMap(({ charges }) => charges.map(({ tally }) => tally)))].toSorted(compare),
    claims,
  };
}

function keysOf(entries: readonly Entry[]): readonly RowKey[] {
  const keys = new Map<string, RowKey>();
  for (const { puts, checks } of entries) {
    for (const { table, key } of promised(checks)) keys.set(nameOf({ table, key }), { table, key, isPut: false });
    for (const { table, key } of puts) keys.set(nameOf({ table, key }), { table, key, isPut: true });
  }
  return [...keys.values()];
}

/** The checks that hold until the commit; the others are looked at once, before anything else. */
export function promised(checks: readonly Check[]): readonly Check[] {
  return checks.length === 0 ? checks : checks.filter(({ glance }) => glance === undefined);
}

/** The same call, made only if the rows that its entries have glanced at are as they were. */
export function heeding(entries: readonly Entry[], call: Call): Call {
  const values = glanceValues(entries);
  if (values.every((value) => value === null)) return call;
  return { ...call, name: `${call.name}_heeding`, values: [...values, ...call.values] };
}

/** The rows that entries have glanced at, each once; nulls: none. */
export function glanceValues(entries: readonly Entry[]): Call["values"] {
  const looks = new Map<string, readonly [Tenant, Check]>();
  for (const { tenant, checks } of entries)
    for (const check of checks)
      if (check.glance !== undefined)
        looks.set(`${check.glance}\0${check.was}\0${nameOf(check)}`, [ownerOf(tenant, check), check]);
  const all = [...looks.values()];
  return [
    texts(all.map(([tenant]) => tenant)),
    texts(all.map(([, { table }]) => table)),
    texts(all.map(([, { key }]) => key)),
    longs(all.map(([, { was }]) => was)),
  ];
}

export function nameOf({ table, key }: Pick<RowKey, "table" | "key">): string {
  return `${table}\0${key}`;
}

export function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

export function batchCall({ entries, keys, tallies, claims }: Batch): Call {
  const [first] = entries;
  assert(first !== undefined, "a batch has entries");
  const keyNumbers = new Map(keys.map((key, index) => [nameOf(key), index + 1]));
  const tallyNumbers = new Map(tallies.map((tally, index) => [tally, index + 1]));
  return heeding(entries, {
    name: "append",
    writes: true,
    isValue: true,
    values: [
      first.tenant,
      // A claim is never soft: an epoch that a crash takes back would be given out again.
      claims.workers.size === 0 && entries.every(({ flush }) => flush === "soft"),
      ...entryValues(entries),
      ...claimValues(entries, claims),
      ...eventValues(numbered(entries, ({ events }) => events)),
      texts(keys.map(({ table }) => table)),
      texts(keys.map(({ key }) => key)),
      booleans(keys.map(({ isPut }) => isPut)),
      ...conditionValues(numbered(entries, conditionsOf), keyNumbers),
      ...putValues(
        numbered(entries, ({ puts }) => puts),
        keyNumbers,
      ),
      texts(tallies),
      ...chargeValues(
        numbered(entries, ({ charges }) => charges),
        tallyNumbers,
      ),
    ],
  });
}

type Numbered<Part> = readonly (readonly [entry: number, part: Part])[];

function numbered<Part>(entries: readonly Entry[], partsOf: (entry: Entry) => readonly Part[]): Numbered<Part> {
  return entries.flatMap((entry, index) => partsOf(entry).map((part) => [index + 1, part] as const));
}

function conditionsOf({ puts, checks }: Entry): readonly (Put | Check)[] {
  return [...puts, ...promised(checks)].filter(({ was }) => was !== "any");
}

function entryValues(entries: readonly Entry[]): Call["values"] {
  return [
    texts(entries.map(({ run }) => run)),
    longs(entries.map(({ expect }) => expect.position)),
    longs(entries.map(({ expect }) => expect.epoch)),
    longs(entries.map(({ expect, events }) => expect.position + events.length)),
    bytes(entries.map(({ events }) => events.at(-1)?.hash ?? null)),
  ];
}

function claimValues(entries: readonly Entry[], { workers, leaseMs, now }: Claims): Call["values"] {
  if (workers.size === 0) return [null, null, null];
  return [texts(entries.map(({ run }) => workers.get(run) ?? null)), leaseMs, now];
}

function eventValues(events: Numbered<SealedEvent>): Call["values"] {
  return [
    integers(events.map(([entry]) => entry)),
    longs(events.map(([, { position }]) => position)),
    texts(events.map(([, { type }]) => type)),
    integers(events.map(([, { v }]) => v)),
    longs(events.map(([, { at }]) => at)),
    texts(events.map(([, { body }]) => body)),
    bytes(events.map(([, { hash }]) => hash)),
  ];
}

function conditionValues(
  conditions: Numbered<Pick<Put | Check, "table" | "key" | "was">>,
  keys: ReadonlyMap<string, number>,
): Call["values"] {
  return [
    integers(conditions.map(([entry]) => entry)),
    integers(conditions.map(([, condition]) => keys.get(nameOf(condition)) ?? null)),
    longs(conditions.map(([, { was }]) => (was === "any" ? null : was))),
  ];
}

function putValues(puts: Numbered<Put>, keys: ReadonlyMap<string, number>): Call["values"] {
  const fields = puts.map(([, put]) => fieldsOf(put));
  return [
    integers(puts.map(([entry]) => entry)),
    integers(puts.map(([, put]) => keys.get(nameOf(put)) ?? null)),
    longs(puts.map(([, put]) => versionAfter(put))),
    texts(puts.map(([, { row }]) => row)),
    ...indexValues(fields),
    ...timerValues(fields),
  ];
}

type Fields = Readonly<Record<string, unknown>>;

/** What lists may ask for, as JSON. */
export function indexValues(rows: readonly Fields[]): Call["values"] {
  const json = (field: string) => texts(rows.map((of) => (of[field] == null ? null : JSON.stringify(of[field]))));
  return [json("status"), json("run_id"), json("reuse_key"), json("due_at")];
}

/** When it is due and where it stands in line. */
export function timerValues(rows: readonly Fields[]): Call["values"] {
  return [
    longs(rows.map(({ due_at }) => (typeof due_at === "number" ? due_at : null))),
    texts(rows.map(({ queue }) => (typeof queue === "string" ? queue : null))),
    longs(rows.map(({ priority }) => (typeof priority === "number" ? -priority : null))),
  ];
}

/** What lists may ask for, and of a timer in which queue it stands. Nothing else of a row is ever looked at. */
export function fieldsOf({ table, row }: Put): Fields {
  const names = indexed[table];
  if (names === undefined || row === null) return {};
  const all = JSON.parse(row) as Record<string, unknown>;
  return table === "timer" ? all : Object.fromEntries(names.map((name) => [name, all[name]]));
}

function chargeValues(charges: Numbered<Charge>, tallies: ReadonlyMap<string, number>): Call["values"] {
  return [
    integers(charges.map(([entry]) => entry)),
    integers(charges.map(([, { tally }]) => tallies.get(tally) ?? null)),
    doubles(charges.map(([, { amount }]) => amount)),
    doubles(charges.map(([, { limit }]) => limit)),
  ];
}
