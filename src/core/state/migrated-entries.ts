import { type Fault, fault } from "../values/fault.ts";
import type { Json } from "../values/json.ts";
import { type Entries, entriesFrom, entriesToJson } from "./project-state.ts";
import type { Slice } from "./slice.ts";

export type MigratedEntries =
  | { readonly ok: true; readonly entries: Entries }
  | { readonly ok: false; readonly fault: Fault };

/** Entries are immutable, so that each migration runs once. */
const known = new WeakMap<Entries, Map<Slice, MigratedEntries>>();

/** Returns stored entries in the current version of the slice, migrated if needed, or the fault. */
export function migratedEntries(slice: Slice, stored: Entries): MigratedEntries {
  if (stored.v === slice.version && stored.shape === slice.shape) return { ok: true, entries: stored };
  const bySlice = known.get(stored) ?? new Map<Slice, MigratedEntries>();
  known.set(stored, bySlice);
  const found = bySlice.get(slice) ?? migrateEntries(slice, stored);
  bySlice.set(slice, found);
  return found;
}

function migrateEntries(slice: Slice, stored: Entries): MigratedEntries {
  const { name, version, shape, migrations } = slice;
  const migrate = Object.hasOwn(migrations, stored.v) ? migrations[stored.v] : undefined;
  const [before, here] = [`${stored.shape} of version ${stored.v}`, `${shape} of version ${version}`];
  const difference = `${name} is stored as a ${before}, here it is a ${here}`;
  if (stored.shape !== shape || migrate === undefined)
    return sliceChanged(
      `${difference}; declare the old version, add a migration of its entries, or rename the new slice`,
    );
  const entries: [string, Json][] = [];
  for (const [key, entry] of Object.entries(entriesToJson(stored))) {
    const migrated = migrateEntry(slice, migrate, entry, key);
    if (!migrated.ok) return sliceChanged(`${difference}; entry ${key} cannot be migrated: ${migrated.why}`);
    entries.push([key, migrated.value]);
  }
  const whole = shape === "list" ? entries.map(([, entry]) => entry) : Object.fromEntries(entries);
  return { ok: true, entries: entriesFrom(whole, version) };
}

type MigratedEntry = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly why: string };

function migrateEntry(
  { entry: schema, shape, invariant }: Slice,
  migrate: NonNullable<Slice["migrations"][string]>,
  entry: Json,
  key: string,
): MigratedEntry {
  const at = shape === "list" ? Number(key) : key;
  try {
    const parsed = schema.parse(migrate(entry, at));
    if (!parsed.ok) return { ok: false, why: parsed.fault.message };
    const broken = invariant?.(parsed.value, at) ?? null;
    return broken === null ? { ok: true, value: parsed.value } : { ok: false, why: `it ${broken}` };
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : "a value that is not an Error was thrown" };
  }
}

function sliceChanged(message: string): MigratedEntries {
  return { ok: false, fault: fault("SLICE_CHANGED", message) };
}
