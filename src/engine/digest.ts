import { hash } from "node:crypto";
import type { Digest, EffectKey } from "../core/id.ts";
import { canonical } from "../core/json/canonical.ts";
import type { Json } from "../core/json/json.ts";

/** SHA-256 over parts that say their own length, so that no two lists of parts look alike. */
export function digestOf(...parts: readonly string[]): Digest {
  return hash("sha256", parts.map((part) => `${part.length}:${part}`).join("")) as Digest;
}

/** The digest of a value, whatever the order of its keys. */
export function digestOfJson(value: Json): Digest {
  return hash("sha256", canonical(value)) as Digest;
}

/** What a tool receives as its key: the effect's own, and a new one each time a person said "yes, again". */
export function downstreamKey(key: EffectKey, generation: number): EffectKey {
  return generation <= 1 ? key : (digestOf("again", key, String(generation)) as string as EffectKey);
}

export function undoKey(key: EffectKey, generation: number): EffectKey {
  return digestOf("undo", key, String(generation)) as string as EffectKey;
}
