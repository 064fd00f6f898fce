import { assert } from "../values/assert.ts";
import { type Table, taggedRowFields } from "./tables.ts";

/** Returns the tag of a field that has this value, or that is a list with this value. */
export function rowTag(field: string, value: string): string {
  return `${field}=${value}`;
}

/** Asserts that stores index the rows of a table by tags. */
export function assertTaggedTable(table: Table): void {
  assert(taggedRowFields[table] !== undefined, `${table} has no tags`);
}

/** Returns the tags of a row, without duplicates. A row that is not of an engine has none. */
export function rowTags(table: Table, row: string): readonly string[] {
  const names = taggedRowFields[table];
  if (names === undefined) return NONE;
  const fields = parseFields(row);
  if (fields === null) return NONE;
  const tags = new Set<string>();
  for (const name of names) {
    const value = fields[name];
    for (const each of Array.isArray(value) ? value : [value])
      if (typeof each === "string") tags.add(rowTag(name, each));
  }
  return [...tags];
}

const NONE: readonly never[] = [];

function parseFields(row: string): Readonly<Record<string, unknown>> | null {
  try {
    const fields: unknown = JSON.parse(row);
    return typeof fields === "object" && fields !== null ? (fields as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}
