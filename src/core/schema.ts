import type { Fault } from "./fault.ts";
import type { Digest } from "./id.ts";
import type { Json } from "./json/json.ts";

/** A way to read foreign data. Which library is behind it is the door's business. */
export interface Schema {
  /** Of the JSON Schema, so that a changed tool is noticed. */
  readonly hash: Digest;
  /** What a model is shown. */
  readonly json: Json;
  parse(value: unknown): Parsed;
}

export type Parsed = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly fault: Fault };
