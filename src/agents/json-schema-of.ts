import { isPlainObject } from "../core/json/plain-object.ts";
import type { Json } from "../core/values/json.ts";

/** Returns the JSON Schema of a framework's schema, for display, or an empty schema if the framework offers none. */
export function jsonSchemaOf(schema: unknown): Json {
  if ((typeof schema !== "object" && typeof schema !== "function") || schema === null) return {};
  try {
    const { jsonSchema, "~standard": standard } = schema as FrameworkSchema;
    const found = jsonSchema ?? standard?.jsonSchema?.input({ target: "draft-2020-12" });
    // Copied, because a schema may have getters and functions.
    return isPlainObject(found) ? (JSON.parse(JSON.stringify(found)) as Json) : {};
  } catch {
    return {}; // It is only displayed.
  }
}

interface FrameworkSchema {
  readonly jsonSchema?: unknown;
  readonly "~standard"?: { readonly jsonSchema?: { input(options: { readonly target: string }): unknown } };
}
