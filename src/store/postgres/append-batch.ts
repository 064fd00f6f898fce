import { rowVersionAfter } from "../../core/store/check-entry.ts";
import {
  type Charge,
  type Check,
  checkedTenant,
  type Entry,
  type Put,
  type SealedEvent,
} from "../../core/store/store.ts";
import { indexedRowFields, type Table } from "../../core/store/tables.ts";
import { assert } from "../../core/values/assert.ts";
import type { Instant, RunId, Tenant, WorkerId } from "../../core/values/ids.ts";
import { booleanArray, byteArray, float8Array, int4Array, int8Array, textArray } from "./binary-array.ts";
import type { FunctionCall } from "./function-caller.ts";

/** Entries of one tenant in the order in which `writ.append` locks and numbers them. */
export interface AppendBatch {
  readonly entries: readonly Entry[];
  readonly keys: readonly RowKey[];
  readonly tallies: readonly string[];
  readonly claims: BatchClaims;
}

/** The worker that claims each new run of a batch, and the lease it gets. `now` is null if the server's time counts. */
export interface BatchClaims {
  readonly workers: ReadonlyMap<RunId, WorkerId>;
  readonly leaseMs: number;
  readonly now: Instant | null;
}

const noClaims: BatchClaims = { workers: new Map(), leaseMs: 0, now: null };

export interface RowKey {
  readonly table: Table;
  readonly key: string;
  /** True if the row is written, false if it is only checked. */
  readonly isPut: boolean;
}

/** Sorts entries, keys and tallies: batches that lock in the same order cannot deadlock. */
export function createBatch(entries: readonly Entry[], claims = noClaims): AppendBatch {
  return {
    entries: entries.toSorted((left, right) => compareText(left.run, right.run)),
    keys: rowKeysOf(entries).toSorted(
      (left, right) => compareText(left.table, right.table) || compareText(left.key, right.key),
    ),
    tallies: [...new Set(entries.flatMap(({ charges }) => charges.map(({ tally }) => tally)))].toSorted(compareText),
    claims,
  };
}

function rowKeysOf(entries: readonly Entry[]): readonly RowKey[] {
  const keys = new Map<string, RowKey>();
  for (const { puts, checks } of entries) {
    for (const { table, key } of lockedChecks(checks)) keys.set(rowName({ table, key }), { table, key, isPut: false });
    for (const { table, key } of puts) keys.set(rowName({ table, key }), { table, key, isPut: true });
  }
  return [...keys.values()];
}

/** Returns the checks whose rows stay locked until the commit. The other rows are read once, first, without a lock. */
export function lockedChecks(checks: readonly Check[]): readonly Check[] {
  return checks.length === 0 ? checks : checks.filter(({ glance }) => glance === undefined);
}

/** Returns the call with the unlocked checks of the entries. It fails with WR003 if one of these rows has changed. */
export function withUnlockedChecks(entries: readonly Entry[], call: FunctionCall): FunctionCall {
  const values = unlockedCheckValues(entries);
  if (values.every((value) => value === null)) return call;
  return { ...call, name: `${call.name}_heeding`, values: [...values, ...call.values] };
}

/** Returns the rows that the entries check without a lock, each once, or nulls if there are none. */
export function unlockedCheckValues(entries: readonly Entry[]): FunctionCall["values"] {
  const unlocked = new Map<string, readonly [Tenant, Check]>();
  for (const { tenant, checks } of entries)
    for (const check of checks)
      if (check.glance !== undefined)
        unlocked.set(`${check.glance}\0${check.was}\0${rowName(check)}`, [checkedTenant(tenant, check), check]);
  const all = [...unlocked.values()];
  return [
    textArray(all.map(([tenant]) => tenant)),
    textArray(all.map(([, { table }]) => table)),
    textArray(all.map(([, { key }]) => key)),
    int8Array(all.map(([, { was }]) => was)),
  ];
}

export function rowName({ table, key }: Pick<RowKey, "table" | "key">): string {
  return `${table}\0${key}`;
}

export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

export function appendCall({ entries, keys, tallies, claims }: AppendBatch): FunctionCall {
  const [first] = entries;
  assert(first !== undefined, "a batch has entries");
  const keyNumbers = new Map(keys.map((key, index) => [rowName(key), index + 1]));
  const tallyNumbers = new Map(tallies.map((tally, index) => [tally, index + 1]));
  return withUnlockedChecks(entries, {
    name: "append",
    writes: true,
    isValue: true,
    values: [
      first.tenant,
      // A claim is never soft: after a crash that loses it, its epoch would be assigned again.
      claims.workers.size === 0 && entries.every(({ flush }) => flush === "soft"),
      ...entryValues(entries),
      ...claimValues(entries, claims),
      ...eventValues(numberParts(entries, ({ events }) => events)),
      textArray(keys.map(({ table }) => table)),
      textArray(keys.map(({ key }) => key)),
      booleanArray(keys.map(({ isPut }) => isPut)),
      ...conditionValues(numberParts(entries, rowConditions), keyNumbers),
      ...putValues(
        numberParts(entries, ({ puts }) => puts),
        keyNumbers,
      ),
      textArray(tallies),
      ...chargeValues(
        numberParts(entries, ({ charges }) => charges),
        tallyNumbers,
      ),
    ],
  });
}

type NumberedParts<Part> = readonly (readonly [entry: number, part: Part])[];

function numberParts<Part>(entries: readonly Entry[], partsOf: (entry: Entry) => readonly Part[]): NumberedParts<Part> {
  return entries.flatMap((entry, index) => partsOf(entry).map((part) => [index + 1, part] as const));
}

function rowConditions({ puts, checks }: Entry): readonly (Put | Check)[] {
  return [...puts, ...lockedChecks(checks)].filter(({ was }) => was !== "any");
}

function entryValues(entries: readonly Entry[]): FunctionCall["values"] {
  return [
    textArray(entries.map(({ run }) => run)),
    int8Array(entries.map(({ expect }) => expect.position)),
    int8Array(entries.map(({ expect }) => expect.epoch)),
    int8Array(entries.map(({ expect, events }) => expect.position + events.length)),
    byteArray(entries.map(({ events }) => events.at(-1)?.hash ?? null)),
  ];
}

function claimValues(entries: readonly Entry[], { workers, leaseMs, now }: BatchClaims): FunctionCall["values"] {
  if (workers.size === 0) return [null, null, null];
  return [textArray(entries.map(({ run }) => workers.get(run) ?? null)), leaseMs, now];
}

function eventValues(events: NumberedParts<SealedEvent>): FunctionCall["values"] {
  return [
    int4Array(events.map(([entry]) => entry)),
    int8Array(events.map(([, { position }]) => position)),
    textArray(events.map(([, { type }]) => type)),
    int4Array(events.map(([, { v }]) => v)),
    int8Array(events.map(([, { at }]) => at)),
    textArray(events.map(([, { body }]) => body)),
    byteArray(events.map(([, { hash }]) => hash)),
  ];
}

function conditionValues(
  conditions: NumberedParts<Pick<Put | Check, "table" | "key" | "was">>,
  keys: ReadonlyMap<string, number>,
): FunctionCall["values"] {
  return [
    int4Array(conditions.map(([entry]) => entry)),
    int4Array(conditions.map(([, condition]) => keys.get(rowName(condition)) ?? null)),
    int8Array(conditions.map(([, { was }]) => (was === "any" ? null : was))),
  ];
}

function putValues(puts: NumberedParts<Put>, keys: ReadonlyMap<string, number>): FunctionCall["values"] {
  const fields = puts.map(([, put]) => listedFields(put));
  return [
    int4Array(puts.map(([entry]) => entry)),
    int4Array(puts.map(([, put]) => keys.get(rowName(put)) ?? null)),
    int8Array(puts.map(([, put]) => rowVersionAfter(put))),
    textArray(puts.map(([, { row }]) => row)),
    ...indexValues(fields),
    ...timerValues(fields),
  ];
}

type RowFields = Readonly<Record<string, unknown>>;

/** The fields of rows that have a column of their own, in the order of these columns. */
export const indexColumns = ["status", "run_id", "reuse_key", "due_at"] as const;

/** Returns the indexed fields of rows, as JSON. */
export function indexValues(rows: readonly RowFields[]): FunctionCall["values"] {
  const json = (field: string) =>
    textArray(rows.map((row) => (row[field] == null ? null : JSON.stringify(row[field]))));
  return indexColumns.map(json);
}

/** Returns due time, queue and rank of timer rows. */
export function timerValues(rows: readonly RowFields[]): FunctionCall["values"] {
  return [
    int8Array(rows.map(({ due_at }) => (typeof due_at === "number" ? due_at : null))),
    textArray(rows.map(({ queue }) => (typeof queue === "string" ? queue : null))),
    int8Array(rows.map(({ priority }) => (typeof priority === "number" ? -priority : null))),
  ];
}

/** Returns the indexed fields of a row, and all fields of a timer row. The store reads no other field. */
export function listedFields({ table, row }: Put): RowFields {
  const names = indexedRowFields[table];
  if (names === undefined || row === null) return {};
  const all = JSON.parse(row) as Record<string, unknown>;
  return table === "timer" ? all : Object.fromEntries(names.map((name) => [name, all[name]]));
}

function chargeValues(charges: NumberedParts<Charge>, tallies: ReadonlyMap<string, number>): FunctionCall["values"] {
  return [
    int4Array(charges.map(([entry]) => entry)),
    int4Array(charges.map(([, { tally }]) => tallies.get(tally) ?? null)),
    float8Array(charges.map(([, { amount }]) => amount)),
    float8Array(charges.map(([, { limit }]) => limit)),
  ];
}
