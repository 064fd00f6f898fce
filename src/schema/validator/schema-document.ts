import { parsePointer, pointerTo, valueAt } from "../../core/json/json-pointer.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import { effectiveMembers, isFragment, type SchemaDialect } from "./schema-dialect.ts";
import { schemaLimits } from "./schema-limits.ts";

/**
 * A JSON Schema with all schemas inside it that a validation can use. Literal values, such as those of `enum` or
 * `default`, and the arguments of unknown keywords are not schemas, unless a reference points to them.
 */
export class SchemaDocument {
  readonly root: JsonObject;
  readonly draft: SchemaDialect;
  /** Each schema with its path. */
  readonly schemas = new Map<JsonObject, string>();
  readonly #anchors = new Map<string, JsonObject>();
  /** The number of schemas, including `true` and `false`. */
  #count = 0;

  constructor(root: JsonObject, draft: SchemaDialect) {
    this.root = root;
    this.draft = draft;
    const pending: Located[] = [[root, ""]];
    for (let next = pending.pop(); next !== undefined && !this.isTooLarge; next = pending.pop()) {
      const [schema, path] = next;
      if (isJsonObject(schema) && this.schemas.has(schema)) continue;
      this.#count += 1;
      if (!isJsonObject(schema)) continue;
      this.schemas.set(schema, path);
      for (const name of draft.anchorsOf(schema)) if (typeof name === "string") this.#anchors.set(name, schema);
      // In reverse, so that the schemas are found in the order of the text.
      pending.push(...[...this.#innerSchemas(schema, path)].reverse());
    }
  }

  get isTooLarge(): boolean {
    return this.#count > schemaLimits.schemas;
  }

  /** Returns the value to which a reference (`#…`) points, or undefined. */
  resolve(reference: string): Json | undefined {
    const fragment = decodeURIComponent(reference.slice(1));
    return parsePointer(fragment) === null ? this.#anchors.get(fragment) : valueAt(this.root, fragment);
  }

  *#innerSchemas(schema: JsonObject, path: string): Iterable<Located> {
    const { draft } = this;
    for (const name of effectiveMembers(schema, draft)) {
      const argument = schema[name] as Json;
      const argumentPath = pointerTo(path, name);
      if (draft.schemaKeywords.includes(name))
        yield* Array.isArray(argument) ? membersOf(argument, argumentPath) : [[argument, argumentPath] as const];
      else if (draft.namedSchemaKeywords.includes(name) && isJsonObject(argument))
        yield* membersOf(argument, argumentPath);
      else if ((name === "$ref" || name === "$dynamicRef") && isFragment(argument)) yield* this.#target(argument);
    }
    // They have no effect beside such a `$ref`, but references find their anchors.
    if (draft.ignoresSiblingsOfRef && Object.hasOwn(schema, "$ref") && isJsonObject(schema.definitions))
      yield* membersOf(schema.definitions, pointerTo(path, "definitions"));
  }

  /** An anchor is found with the schema that has it, so only pointers lead to further schemas. */
  *#target(reference: string): Iterable<Located> {
    const target = /^#(?:\/|$)/.test(reference) ? this.resolve(reference) : undefined;
    if (target !== undefined) yield [target, reference.slice(1)];
  }
}

/** A value in the place of a schema, and its path. */
type Located = readonly [Json, string];

function* membersOf(container: Json, path: string): Iterable<Located> {
  for (const [key, member] of Object.entries(container as JsonObject)) yield [member, pointerTo(path, key)];
}
