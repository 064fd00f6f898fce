import { type Fault, fault } from "../fault.ts";
import type { Json } from "../json/json.ts";
import { type Entries, entriesFrom, wholeOf } from "./project-state.ts";
import type { Slice } from "./slice.ts";

export type Current = { readonly ok: true; readonly entries: Entries } | { readonly ok: false; readonly fault: Fault };

/** Entries do not change, so that they are rewritten once, however often they are looked at. */
const rewritten = new WeakMap<Entries, Map<Slice, Current>>();

/** Entries on record as the slice has them now: those of an earlier version are rewritten as the slice says, or it is refused. */
export function currentEntries(slice: Slice, kept: Entries): Current {
  if (kept.v === slice.version && kept.shape === slice.shape) return { ok: true, entries: kept };
  const known = rewritten.get(kept) ?? new Map<Slice, Current>();
  rewritten.set(kept, known);
  const found = known.get(slice) ?? rewrite(slice, kept);
  known.set(slice, found);
  return found;
}

function rewrite(slice: Slice, kept: Entries): Current {
  const { name, version, shape, migrations } = slice;
  const migrate = Object.hasOwn(migrations, kept.v) ? migrations[kept.v] : undefined;
  const is = `${name} is on record as a ${kept.shape} of version ${kept.v}, here it is a ${shape} of version ${version}`;
  if (kept.shape !== shape || migrate === undefined)
    return changed(`${is}; declare it as it was, say how its entries are migrated, or give the new one another name`);
  const entries: [string, Json][] = [];
  for (const [key, entry] of Object.entries(wholeOf(kept))) {
    const made = migrated(slice, migrate, entry, key);
    if (!made.ok) return changed(`${is}; entry ${key} cannot be migrated: ${made.why}`);
    entries.push([key, made.value]);
  }
  const whole = shape === "list" ? entries.map(([, entry]) => entry) : Object.fromEntries(entries);
  return { ok: true, entries: entriesFrom(whole, version) };
}

type Migrated = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly why: string };

function migrated(
  { entry: schema, shape, invariant }: Slice,
  migrate: NonNullable<Slice["migrations"][string]>,
  entry: Json,
  key: string,
): Migrated {
  const at = shape === "list" ? Number(key) : key;
  try {
    const parsed = schema.parse(migrate(entry, at));
    if (!parsed.ok) return { ok: false, why: parsed.fault.message };
    const broken = invariant?.(parsed.value, at) ?? null;
    return broken === null ? { ok: true, value: parsed.value } : { ok: false, why: `it ${broken}` };
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : "something that is no error was thrown" };
  }
}

function changed(message: string): Current {
  return { ok: false, fault: fault("SLICE_CHANGED", message) };
}
