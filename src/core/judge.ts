import { assert } from "./assert.ts";
import type { RunId, Tenant } from "./id.ts";
import { isWellFormed } from "./json/well-formed.ts";
import type { Table } from "./rows.ts";
import { type Charge, type Check, type Entry, type Landing, ownerOf, type Put, type StoredRow } from "./store.ts";

/** What the conditions of an entry are judged against, inside the transaction that writes it. */
export interface View {
  /** Null: never claimed, so that no epoch is right. */
  epoch(tenant: Tenant, run: RunId): number | null;
  /** How many events the run has. */
  position(tenant: Tenant, run: RunId): number;
  hash(tenant: Tenant, run: RunId, position: number): Uint8Array | null;
  row(tenant: Tenant, table: Table, key: string): StoredRow | null;
  used(tenant: Tenant, tally: string): number;
}

/** Whether an entry may land: every condition of it, before its first write. Stores decide this here and nowhere else. */
export function judge(entry: Entry, view: View): Landing {
  const { tenant, run, expect } = entry;
  if (expect.epoch !== null && view.epoch(tenant, run) !== expect.epoch) return { landed: false, why: "epoch" };
  const position = view.position(tenant, run);
  if (position !== expect.position) {
    return { landed: false, why: "position", position, hash: view.hash(tenant, run, expect.position + 1) };
  }
  return judgeBeyond(entry, view);
}

/** The conditions beyond the run's own epoch and position. */
export function judgeBeyond({ tenant, puts, checks, charges }: Entry, view: Pick<View, "row" | "used">): Landing {
  return (
    judgeRows(tenant, puts, "row", view) ??
    judgeRows(tenant, checks, "check", view) ??
    judgeCharges(tenant, charges, view) ?? { landed: true }
  );
}

function judgeRows(
  tenant: Tenant,
  wanted: readonly (Put | Check)[],
  why: "row" | "check",
  view: Pick<View, "row">,
): Landing | undefined {
  for (const condition of wanted) {
    const { table, key, was } = condition;
    if (was === "any") continue;
    const found = view.row("glance" in condition ? ownerOf(tenant, condition) : tenant, table, key);
    if ((found?.version ?? null) !== was) return { landed: false, why, table, key, found };
  }
  return undefined;
}

function judgeCharges(tenant: Tenant, charges: readonly Charge[], view: Pick<View, "used">): Landing | undefined {
  if (charges.every(({ limit }) => limit === null)) return undefined;
  // One entry may charge a tally twice; together they must fit.
  const running = new Map<string, number>();
  for (const { tally, amount, limit } of charges) {
    const used = running.get(tally) ?? view.used(tenant, tally);
    if (limit !== null && used + amount > limit) return { landed: false, why: "charge", tally, used, limit };
    running.set(tally, used + amount);
  }
  return undefined;
}

/** Lands each entry in turn; once one has failed, the later ones of its run were decided on a past that never was. */
export function landInOrder(entries: readonly Entry[], land: (entry: Entry) => Landing): readonly Landing[] {
  const [only] = entries;
  if (only !== undefined && entries.length === 1) return [land(only)];
  const failed = new Set<string>();
  return entries.map((entry) => {
    const name = `${entry.tenant}\0${entry.run}`;
    if (failed.has(name)) return { landed: false, why: "earlier" };
    const landing = land(entry);
    if (!landing.landed) failed.add(name);
    return landing;
  });
}

/** The version a row has once a put has landed. */
export function versionAfter({ was }: Put): number {
  return was === "any" ? 0 : (was ?? 0) + 1;
}

/** What no correct engine would send, and no two stores would take alike. */
export function assertSound(entry: Entry): void {
  assertNames(entry.tenant, entry.run);
  let { position } = entry.expect;
  for (const event of entry.events) {
    position += 1;
    assert(event.position === position, "events follow the expected position without a gap");
  }
  for (const { key } of entry.checks) assertNames(key);
  for (const { tally, amount } of entry.charges) {
    assertNames(tally);
    // Nothing is greater than a limit by NaN.
    assert(Number.isFinite(amount), `a charge to ${tally} is a number`);
  }
  for (const { key } of entry.puts) assertNames(key);
  if (entry.puts.length <= 1) return;
  const rows = new Set(entry.puts.map(({ table, key }) => `${table}\0${key}`));
  assert(rows.size === entry.puts.length, "an entry puts a row once");
}

/** Databases end a text at NUL and replace half a surrogate pair, so that two such names could become one. */
export function assertNames(...names: readonly string[]): void {
  for (const name of names) {
    // The message is made only when it is needed: this runs for every name that is stored.
    if (name.includes("\0") || !isWellFormed(name)) assert(false, `${JSON.stringify(name)} can be kept as a name`);
  }
}
