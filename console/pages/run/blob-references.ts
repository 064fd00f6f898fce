import type { Json } from "../../../src/core/values/json.ts";
import type { BlobReference } from "../../../src/engine/ports/output-as-plain-data.ts";

/** More values of an output are not searched. */
const valuesMax = 20_000;

/** Returns the references to bytes in an output, each once. */
export function blobReferences(output: Json): readonly BlobReference[] {
  const found = new Map<string, BlobReference>();
  const left: Json[] = [output];
  for (let read = 0; left.length > 0 && read < valuesMax; read += 1) {
    const value = left.pop();
    if (typeof value !== "object" || value === null) continue;
    if (isReference(value)) found.set(value.blob, value);
    else left.push(...Object.values(value));
  }
  return [...found.values()];
}

function isReference(value: object): value is BlobReference {
  const { blob, bytes } = value as Partial<BlobReference>;
  return Object.keys(value).length === 2 && /^[0-9a-f]{64}$/.test(String(blob)) && Number.isInteger(bytes);
}
