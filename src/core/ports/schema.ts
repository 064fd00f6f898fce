import type { Fault } from "../values/fault.ts";
import type { Digest } from "../values/ids.ts";
import type { Json } from "../values/json.ts";

/** Validates and parses data from outside. The module that makes it chooses the library. */
export interface Schema {
  /** The hash of the JSON Schema, by which a changed tool is noticed. */
  readonly hash: Digest;
  /** The JSON Schema that a model is shown. */
  readonly json: Json;
  parse(value: unknown): Parsed;
}

export type Parsed = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly fault: Fault };
