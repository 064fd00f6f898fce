import { isObject, type Json } from "../core/json.ts";
import { valueAt, withValueAt } from "../core/pointer.ts";
import type { Tool } from "../core/tool.ts";
import { digestOfJson } from "./digest.ts";

/** What can be kept of an answer that is not what was promised. */
export function storable(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value) ?? "null") as Json;
  } catch {
    return null;
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
