import { hash } from "node:crypto";
import { canonicalJson } from "../../core/json/canonical-json.ts";
import type { Digest, EffectKey } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";

/** Returns the SHA-256 of the parts. Each part is prefixed with its length, so that different lists never collide. */
export function digestOfParts(...parts: readonly string[]): Digest {
  return hash("sha256", parts.map((part) => `${part.length}:${part}`).join("")) as Digest;
}

/** Returns the digest of a JSON value. The order of keys does not matter. */
export function digestOfJson(value: Json): Digest {
  return hash("sha256", canonicalJson(value)) as Digest;
}

/** Returns the key that a tool receives: the effect key, or a new one for each generation that a person allowed. */
export function downstreamKey(key: EffectKey, generation: number): EffectKey {
  return generation <= 1 ? key : (digestOfParts("again", key, String(generation)) as string as EffectKey);
}

export function undoKey(key: EffectKey, generation: number): EffectKey {
  return digestOfParts("undo", key, String(generation)) as string as EffectKey;
}
