import type { Json, JsonObject } from "../../core/values/json.ts";
import type { Validator } from "./metered-validation.ts";

/**
 * Compiles a keyword; null if it has no effect. `siblings` is the schema that contains it. Throws if the argument is
 * invalid.
 */
export type Keyword = (argument: Json, siblings: JsonObject, compiler: KeywordCompiler) => Validator | null;

/** Compiles the schemas inside the argument of a keyword. */
export interface KeywordCompiler {
  compile(schema: Json | undefined): Validator;
  /** Compiles the target of a reference. */
  compileReference(reference: Json): Validator;
}
