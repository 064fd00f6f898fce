import type { Json } from "../values/json.ts";
import { normalizeText } from "../values/normalize-text.ts";
import type { IdentityField } from "./tool.ts";

/** Returns the value of an identity field as it is compared. Only texts have a form. */
export function identityValue({ normalize }: IdentityField, value: Json): Json {
  return normalize === null || typeof value !== "string" ? value : normalizeText(value, normalize);
}

/**
 * Returns a warning if a text that is compared byte for byte is not in normal form C: the same text can then be written
 * with other bytes, which would be another act. Null if there is none.
 */
export function identityCaution(
  identity: readonly IdentityField[],
  valueAt: (pointer: string) => Json | undefined,
): string | null {
  const unusual = identity
    .filter(({ pointer, normalize }) => normalize === null && isUnusual(valueAt(pointer)))
    .map(({ pointer }) => pointer);
  if (unusual.length === 0) return null;
  return `${unusual.join(", ")} is part of the identity of the act and is not in Unicode normal form C: the same text with other bytes would be another act; declare normalize for it`;
}

function isUnusual(value: Json | undefined): boolean {
  return typeof value === "string" && value !== value.normalize("NFC");
}
