import { assert } from "../assert.ts";
import type { Json } from "./json.ts";
import { isPlainObject } from "./plain-object.ts";
import { isWellFormed } from "./well-formed.ts";

/**
 * The one text of a JSON value (RFC 8785): equal values have equal texts and different values different ones,
 * so that a digest of it can stand for the value. What is not JSON is a bug of the caller.
 */
export function canonical(value: Json): string {
  switch (typeof value) {
    case "string":
      return text(value);
    case "number":
      assert(Number.isFinite(value), "a JSON number is finite");
      return String(value);
    case "boolean":
      return String(value);
    default:
      return value === null ? "null" : container(value);
  }
}

function container(value: object): string {
  if (Array.isArray(value)) return `[${Array.from(value, canonical).join(",")}]`;
  assert(isPlainObject(value), "JSON is made of plain objects, arrays, texts, numbers, booleans and null");
  // Sorted by UTF-16 code units, which is what both the RFC and a bare sort() mean.
  const members = Object.keys(value)
    .sort()
    .map((key) => `${text(key)}:${canonical(value[key] as Json)}`);
  return `{${members.join(",")}}`;
}

/** Most texts need no escape and cannot hold a surrogate; the others take the long way. */
const simple = /^[ !#-[\]-~]*$/;

function text(value: string): string {
  if (simple.test(value)) return `"${value}"`;
  assert(isWellFormed(value), "a JSON text has no lone surrogates");
  return JSON.stringify(value);
}
