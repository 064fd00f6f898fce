import type { Json } from "../../../src/core/values/json.ts";
import type { RecordedSlice } from "../../../src/engine/api/state-api.ts";

type Slices = Readonly<Record<string, RecordedSlice>>;

/** An entry of a slice that differs between two versions. Null: that version has no such entry. */
export interface EntryChange {
  readonly slice: string;
  readonly key: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** Returns the entries that differ, in the order of their slices and keys. */
export function stateChanges(before: Slices, after: Slices): readonly EntryChange[] {
  const slices = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return slices.flatMap((slice) => {
    const [old, new_] = [entriesOf(before[slice]), entriesOf(after[slice])];
    const keys = [...new Set([...old.keys(), ...new_.keys()])];
    return keys.flatMap((key): readonly EntryChange[] => {
      const [one, other] = [old.get(key), new_.get(key)];
      const change = { slice, key, before: textOf(one), after: textOf(other) };
      return change.before === change.after ? [] : [change];
    });
  });
}

function entriesOf(slice: RecordedSlice | undefined): ReadonlyMap<string, Json> {
  return new Map(slice === undefined ? [] : Object.entries(slice.entries as Readonly<Record<string, Json>>));
}

function textOf(value: Json | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
