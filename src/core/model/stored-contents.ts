import type { Json, JsonObject } from "../values/json.ts";

/**
 * A content that a recorded request holds, and its digest. A list and not an object with a key per digest: parsing
 * objects with ever new keys takes half as much time again.
 */
export type StoredContent = readonly [digest: string, value: Json];

/** Returns the contents that the request of a model call was the first to have. */
export function storedContents({ stored }: JsonObject): readonly StoredContent[] {
  return Array.isArray(stored) ? (stored as unknown as readonly StoredContent[]) : [];
}

/** Returns the request without these contents. Copies field by field, because leaving a field out of a copy is slow. */
export function withoutContents(payload: JsonObject): JsonObject {
  if (payload.stored === undefined) return payload;
  const rest: Record<string, Json> = {};
  for (const name of Object.keys(payload)) if (name !== "stored") rest[name] = payload[name] as Json;
  return rest;
}
