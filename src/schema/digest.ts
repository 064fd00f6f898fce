import { createHash } from "node:crypto";
import type { Digest } from "../core/id.ts";
import { canonical } from "../core/json/canonical.ts";
import type { Json } from "../core/json/json.ts";

/** The same for two schemas exactly when they say the same. */
export function schemaHash(json: Json): Digest {
  return createHash("sha256").update(canonical(json), "utf8").digest("hex") as Digest;
}
