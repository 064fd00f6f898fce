import { isWellFormed } from "../json/well-formed-text.ts";
import { assert } from "../values/assert.ts";
import type { RunId, Tenant } from "../values/ids.ts";
import {
  type AppendResult,
  type Charge,
  type Check,
  checkedTenant,
  type Entry,
  type Put,
  type StoredRow,
} from "./store.ts";
import type { Table } from "./tables.ts";

/** The current facts against which the conditions of an entry are checked, inside the transaction that writes it. */
export interface AppendView {
  /** Null: the run was never claimed, so that no epoch matches. */
  epoch(tenant: Tenant, run: RunId): number | null;
  /** The number of events of the run. */
  position(tenant: Tenant, run: RunId): number;
  hash(tenant: Tenant, run: RunId, position: number): Uint8Array | null;
  row(tenant: Tenant, table: Table, key: string): StoredRow | null;
  used(tenant: Tenant, tally: string): number;
}

/**
 * Checks every condition of an entry before its first write. Every store uses this function and has no rule of its own.
 */
export function checkEntry(entry: Entry, view: AppendView): AppendResult {
  const { tenant, run, expect } = entry;
  if (expect.epoch !== null && view.epoch(tenant, run) !== expect.epoch) return { landed: false, why: "epoch" };
  const position = view.position(tenant, run);
  if (position !== expect.position) {
    return { landed: false, why: "position", position, hash: view.hash(tenant, run, expect.position + 1) };
  }
  return checkRowsAndCharges(entry, view);
}

/** Checks the conditions other than epoch and position. */
export function checkRowsAndCharges(
  { tenant, puts, checks, charges }: Entry,
  view: Pick<AppendView, "row" | "used">,
): AppendResult {
  return (
    checkRows(tenant, puts, "row", view) ??
    checkRows(tenant, checks, "check", view) ??
    checkCharges(tenant, charges, view) ?? { landed: true }
  );
}

function checkRows(
  tenant: Tenant,
  conditions: readonly (Put | Check)[],
  why: "row" | "check",
  view: Pick<AppendView, "row">,
): AppendResult | undefined {
  for (const condition of conditions) {
    const { table, key, was } = condition;
    if (was === "any") continue;
    const found = view.row("glance" in condition ? checkedTenant(tenant, condition) : tenant, table, key);
    if ((found?.version ?? null) !== was) return { landed: false, why, table, key, found };
  }
  return undefined;
}

/** Returns why the charges do not land, or undefined. */
export function checkCharges(
  tenant: Tenant,
  charges: readonly Charge[],
  view: Pick<AppendView, "used">,
): AppendResult | undefined {
  if (charges.every(({ limit }) => limit === null)) return undefined;
  // One entry may charge a tally twice; the sum must stay within the limit.
  const running = new Map<string, number>();
  for (const { tally, amount, limit } of charges) {
    const used = running.get(tally) ?? view.used(tenant, tally);
    if (limit !== null && used + amount > limit) return { landed: false, why: "charge", tally, used, limit };
    running.set(tally, used + amount);
  }
  return undefined;
}

/**
 * Appends the entries in order. After a failed entry the later entries of its run fail too, because they were decided
 * on events that were not written.
 */
export function appendInOrder(
  entries: readonly Entry[],
  land: (entry: Entry) => AppendResult,
): readonly AppendResult[] {
  const [only] = entries;
  if (only !== undefined && entries.length === 1) return [land(only)];
  const failed = new Set<string>();
  return entries.map((entry) => {
    const name = `${entry.tenant}\0${entry.run}`;
    if (failed.has(name)) return { landed: false, why: "earlier" };
    const result = land(entry);
    if (!result.landed) failed.add(name);
    return result;
  });
}

/** Returns the version of a row after a put has landed. */
export function rowVersionAfter({ was }: Put): number {
  return was === "any" ? 0 : (was ?? 0) + 1;
}

/** Throws for an entry that a correct engine never sends and that stores would handle differently. */
export function assertValidEntry(entry: Entry): void {
  assertStorableNames(entry.tenant, entry.run);
  let { position } = entry.expect;
  for (const event of entry.events) {
    position += 1;
    assert(event.position === position, "events follow the expected position without a gap");
  }
  for (const { key } of entry.checks) assertStorableNames(key);
  for (const { tally, amount } of entry.charges) {
    assertStorableNames(tally);
    // A NaN amount would pass every limit, because every comparison with NaN is false.
    assert(Number.isFinite(amount), `a charge to ${tally} is a number`);
  }
  for (const { key } of entry.puts) assertStorableNames(key);
  if (entry.puts.length <= 1) return;
  const rows = new Set(entry.puts.map(({ table, key }) => `${table}\0${key}`));
  assert(rows.size === entry.puts.length, "an entry puts a row once");
}

/** Databases end a text at NUL and replace half a surrogate pair, so that two such names could become one. */
export function assertStorableNames(...names: readonly string[]): void {
  for (const name of names) {
    // The message is made only when it is needed: this runs for every name that is stored.
    if (name.includes("\0") || !isWellFormed(name)) assert(false, `${JSON.stringify(name)} can be stored as a name`);
  }
}
