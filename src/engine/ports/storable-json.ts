import { normalizeJson, valueLimits } from "../../core/json/check-json.ts";
import { valueAt, withValueAt } from "../../core/json/json-pointer.ts";
import type { Tool } from "../../core/tool/tool.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import { digestOfJson } from "./digest.ts";

/** Returns the storable part of a value, or null if it has none. */
export function toStorableJsonOrNull(value: unknown): Json {
  return toStorableJson(value) ?? null;
}

/** Returns a value as JSON, cut to the limits. Undefined: it contains itself, or its own code throws. */
export function toStorableJson(value: unknown): Json | undefined {
  try {
    const read = normalizeJson(value, valueLimits);
    if (read.ok) return read.value;
    // A value that is too large is never serialised as a whole. A foreign value, such as a Date, may have toJSON.
    if (read.tooLarge) return read.rest;
    const plain = normalizeJson(JSON.parse(JSON.stringify(value) ?? "null"), valueLimits);
    return plain.ok ? plain.value : plain.rest;
  } catch {
    return undefined;
  }
}

/** Returns an output with the secret fields of its tool replaced by digests. */
export function redactOutput(output: Json, { redact }: Pick<Tool, "redact">): Json {
  let redacted = output;
  for (const pointer of redact) {
    const secret = valueAt(redacted, pointer);
    // The output may be a list, and a value is set in an object only.
    if (secret !== undefined)
      redacted =
        withValueAt({ output: redacted }, `/output${pointer}`, { redacted: digestOfJson(secret) })?.output ?? null;
  }
  return redacted;
}

/** Returns an upper bound of the bytes of a value as JSON, without serialising it: six bytes per character. */
export function jsonBytesAtMost(value: Json): number {
  if (typeof value === "string") return 6 * value.length + 2;
  if (typeof value !== "object" || value === null) return 25;
  let bytes = 2;
  if (Array.isArray(value)) for (const item of value as readonly Json[]) bytes += jsonBytesAtMost(item) + 1;
  else
    for (const key of Object.keys(value))
      bytes += 6 * key.length + 4 + jsonBytesAtMost((value as JsonObject)[key] as Json);
  return bytes;
}
