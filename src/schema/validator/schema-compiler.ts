import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import type { Keyword, KeywordCompiler } from "./keyword.ts";
import type { EvaluatedMembers, MeteredValidation, Validator } from "./metered-validation.ts";
import { effectiveMembers } from "./schema-dialect.ts";
import type { SchemaDocument } from "./schema-document.ts";

/** Compiles a JSON Schema to a function. Each schema inside it is compiled once, so that it may refer to itself. */
export class SchemaCompiler implements KeywordCompiler {
  readonly #document: SchemaDocument;
  readonly #compiled = new Map<Json, Validator>();
  readonly #keywordOrder: ReadonlyMap<string, number>;
  readonly #tracksEvaluated: boolean;

  constructor(document: SchemaDocument) {
    this.#document = document;
    const { keywords } = document.draft;
    this.#keywordOrder = new Map(Object.keys(keywords).map((keyword, index) => [keyword, index] as const));
    this.#tracksEvaluated = [...document.schemas.keys()].some(
      (schema) => Object.hasOwn(schema, "unevaluatedProperties") || Object.hasOwn(schema, "unevaluatedItems"),
    );
  }

  /** Compiles the whole schema. */
  compileRoot(): Validator {
    return this.compile(this.#document.root);
  }

  /** Compiles one of the schemas of the document. */
  compile(schema: Json | undefined): Validator {
    if (schema === true) return ACCEPT_ALL;
    if (schema === false) return (_, validation) => validation.report("boolean schema is false");
    if (schema === undefined || !isJsonObject(schema)) throw new Error("a schema must be an object, true or false");
    const compiled = this.#compiled.get(schema);
    if (compiled !== undefined) return compiled;
    let validate: Validator = ACCEPT_ALL;
    // A reference back to this schema calls this function, which is complete by then.
    this.#compiled.set(schema, (value, validation) => validate(value, validation));
    validate = this.#combine(
      this.#keywordsOf(schema).flatMap((keyword) => this.#compileKeyword(keyword, schema) ?? []),
    );
    this.#compiled.set(schema, validate);
    return validate;
  }

  /** Compiles the target of a reference. */
  compileReference(reference: Json): Validator {
    if (typeof reference !== "string") throw new Error("a reference must be a text");
    const target = this.#document.resolve(reference);
    if (target === undefined) throw new Error(`can't resolve reference ${reference}`);
    return this.compile(target);
  }

  #combine(validators: readonly Validator[]): Validator {
    const all: Validator = (value, validation) => {
      validation.enter();
      let isValid = true;
      for (const validator of validators) if (!validator(value, validation)) isValid = false;
      validation.leave();
      return isValid;
    };
    return this.#tracksEvaluated ? (value, validation) => trackEvaluated(all, value, validation) : all;
  }

  #keywordsOf(schema: JsonObject): readonly string[] {
    const order = this.#keywordOrder;
    return effectiveMembers(schema, this.#document.draft)
      .filter((keyword) => order.has(keyword))
      .sort((left, right) => (order.get(left) as number) - (order.get(right) as number));
  }

  /** Adds the name of the keyword to the message of an error. */
  #compileKeyword(keyword: string, schema: JsonObject): Validator | null {
    try {
      return (this.#document.draft.keywords[keyword] as Keyword)(schema[keyword] as Json, schema, this);
    } catch (thrown) {
      throw new Error(`${keyword}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }
}

const ACCEPT_ALL: Validator = () => true;

/**
 * Adds the members that a schema evaluated to those of the outer schema for the same value, if the schema accepts the
 * value.
 */
function trackEvaluated(validate: Validator, value: Json, validation: MeteredValidation): boolean {
  const outer = validation.evaluated;
  const own: EvaluatedMembers = { names: new Set(), items: 0, indexes: new Set() };
  validation.evaluated = own;
  const isValid = validate(value, validation);
  validation.evaluated = outer;
  if (isValid && outer !== null) {
    validation.spend((own.names.size + own.indexes.size) >> 3);
    for (const name of own.names) outer.names.add(name);
    for (const index of own.indexes) outer.indexes.add(index);
    outer.items = Math.max(outer.items, own.items);
  }
  return isValid;
}
