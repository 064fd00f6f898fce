import { createHash } from "node:crypto";
import { canonicalJson } from "../core/json/canonical-json.ts";
import type { Digest } from "../core/values/ids.ts";
import type { Json } from "../core/values/json.ts";

/** Returns the hash of the canonical form, which does not depend on the order of keys. */
export function schemaHash(json: Json): Digest {
  return createHash("sha256").update(canonicalJson(json), "utf8").digest("hex") as Digest;
}
