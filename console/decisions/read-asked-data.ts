import type { AskedValue } from "../../src/core/tool/asked-data.ts";
import { isJsonObject, type Json, type JsonObject } from "../../src/core/values/json.ts";
import { type SchemaProblem, schemaProblems } from "./schema-problems.ts";

/** The values that a gate asks for, or why the typed texts cannot be used. */
export type AskedData =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] };

/** Reads the typed texts, by the pointers of the values that a gate asks for, as the schema of the input says. */
export function readAskedData(
  asked: readonly AskedValue[],
  texts: Readonly<Record<string, string>>,
  schema: Json,
): AskedData {
  const problems: SchemaProblem[] = [];
  const values: [string, Json][] = [];
  for (const { path } of asked) {
    const found = readValue(texts[path] ?? "", schemaAt(schema, path), path);
    if (found.ok) values.push([path, found.value]);
    else problems.push(...found.problems);
  }
  return problems.length === 0 ? { ok: true, value: Object.fromEntries(values) } : { ok: false, problems };
}

type ReadValue = { readonly ok: true; readonly value: Json } | Extract<AskedData, { ok: false }>;

/** A text is taken as it stands; a value of another type is read as JSON. */
function readValue(text: string, schema: Json, path: string): ReadValue {
  if (text.trim() === "") return { ok: false, problems: [{ path, message: "is missing" }] };
  const type = isJsonObject(schema) ? schema.type : undefined;
  const isText = type === undefined || type === "string";
  let value: Json = text;
  if (!isText)
    try {
      value = JSON.parse(text) as Json;
    } catch {
      return { ok: false, problems: [{ path, message: `must be ${String(type)}, as JSON` }] };
    }
  const problems = schemaProblems(value, schema, path);
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

/** Returns the schema of a place in a value, or a schema that allows everything. */
function schemaAt(schema: Json, path: string): Json {
  let found: Json = schema;
  for (const token of path.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    const { properties, items }: JsonObject = isJsonObject(found) ? found : {};
    if (properties !== undefined && isJsonObject(properties) && Object.hasOwn(properties, name))
      found = properties[name] as Json;
    else found = items ?? {};
  }
  return found;
}
