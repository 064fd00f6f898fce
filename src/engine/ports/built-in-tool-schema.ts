import type { Schema } from "../../core/ports/schema.ts";
import { fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import { digestOfJson } from "./digest.ts";

/** Returns the schema of a built-in tool. `flaw` says what is wrong with a value, or null. */
export function builtInToolSchema(json: Json, flaw: (value: JsonObject) => string | null): Schema {
  return {
    hash: digestOfJson(json) as Digest,
    json,
    parse: (value) => {
      const given = value as Json;
      const wrong = isJsonObject(given) ? flaw(given) : flaw({});
      return wrong === null ? { ok: true, value: given } : { ok: false, fault: fault("INVALID_INPUT", wrong) };
    },
  };
}
