import { tidyJson, valueLimits } from "../../core/json/check-json.ts";
import { isObject, type Json, type JsonObject } from "../../core/json/json.ts";
import { valueAt, withValueAt } from "../../core/json/pointer.ts";
import type { Tool } from "../../core/tool.ts";
import { digestOfJson } from "../digest.ts";

/** What can be kept of an answer that is not what was promised. */
export function storable(value: unknown): Json {
  return written(value) ?? null;
}

/** A value as it can be written down, as much of it as may be; undefined: it cannot, because it contains itself or its own code throws. */
export function written(value: unknown): Json | undefined {
  try {
    const read = tidyJson(value, valueLimits);
    if (read.ok) return read.value;
    // What is too large is never written out as a whole. What is only foreign, such as a date, may know how it is written.
    if (read.tooLarge) return read.rest;
    const plain = tidyJson(JSON.parse(JSON.stringify(value) ?? "null"), valueLimits);
    return plain.ok ? plain.value : plain.rest;
  } catch {
    return undefined;
  }
}

/** An output as it may be stored, whoever it came from: where its tool keeps a field secret, a digest stands instead. */
export function redacted(output: Json, { redact }: Pick<Tool, "redact">): Json {
  let kept = output;
  for (const pointer of redact) {
    const secret = valueAt(kept, pointer);
    if (secret === undefined || !isObject(kept)) continue;
    kept = withValueAt(kept, pointer, { redacted: digestOfJson(secret) }) ?? kept;
  }
  return kept;
}

/** What the text of a value cannot exceed: JSON writes no character in more than six bytes. Counted, not written. */
export function bytesAtMost(value: Json): number {
  if (typeof value === "string") return 6 * value.length + 2;
  if (typeof value !== "object" || value === null) return 25;
  let bytes = 2;
  if (Array.isArray(value)) for (const item of value as readonly Json[]) bytes += bytesAtMost(item) + 1;
  else
    for (const key of Object.keys(value)) bytes += 6 * key.length + 4 + bytesAtMost((value as JsonObject)[key] as Json);
  return bytes;
}
