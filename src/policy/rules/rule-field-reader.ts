import { NamePattern } from "../../core/approval/name-pattern.ts";
import { FieldReader } from "../../core/json/field-reader.ts";
import { pointerTo } from "../../core/json/json-pointer.ts";
import type { ProblemList } from "../../core/json/problem-list.ts";
import type { Expression, ExpressionLanguage } from "../../core/ports/expression.ts";
import { isName } from "../../core/values/is-name.ts";
import { isJsonObject, type Json } from "../../core/values/json.ts";
import { ruleFields, ruleVariables } from "./rule-input.ts";

const LIST_MAX = 200;
const WORD = /^[\w.:-]{1,64}$/;
const GLOB = /^[\w.:*-]{1,100}$/;

/** Reads the fields of the rules of a document. Adds a reason for each invalid field and continues. */
export class RuleFieldReader {
  readonly reasons: ProblemList;
  readonly #language: ExpressionLanguage;
  /** Null: every name is a role. */
  readonly #roles: readonly string[] | null;

  constructor(reasons: ProblemList, language: ExpressionLanguage, roles: readonly string[] | null) {
    this.reasons = reasons;
    this.#language = language;
    this.#roles = roles;
  }

  get empty(): FieldReader {
    return new FieldReader({}, "", this.reasons);
  }

  /** Returns a reader of a nested object, or null if the field is absent or no object. */
  object(fields: FieldReader, name: string): FieldReader | null {
    const value = fields.value(name);
    if (value === undefined) return null;
    if (!isJsonObject(value)) {
      fields.addReason(name, "must be an object");
      return null;
    }
    return new FieldReader(value, pointerTo(fields.path, name), this.reasons);
  }

  choices<const Choice extends string>(
    fields: FieldReader,
    name: string,
    choices: readonly Choice[],
  ): readonly Choice[] | null {
    return this.#listOf(fields, name, (item): item is Choice => choices.includes(item as Choice), choices.join(", "));
  }

  words(fields: FieldReader, name: string): readonly string[] | null {
    return this.#listOf(fields, name, (item): item is string => typeof item === "string" && WORD.test(item), "words");
  }

  namePatterns(fields: FieldReader, name: string): readonly NamePattern[] | null {
    const isGlob = (item: Json): item is string => typeof item === "string" && GLOB.test(item);
    return (
      this.#listOf(fields, name, isGlob, "names of tools, in which * matches anything")?.map(
        (item) => new NamePattern(item),
      ) ?? null
    );
  }

  /** Rejects roles that the document does not list: a rule with such a role would never apply. */
  roles(fields: FieldReader, name: string): readonly string[] | null {
    const form = this.#roles === null ? "names of roles" : `roles of this policy: ${this.#roles.join(", ")}`;
    return this.#listOf(fields, name, (item): item is string => this.#isRole(item), form);
  }

  personIds(fields: FieldReader, name: string): readonly string[] | null {
    return this.#listOf(fields, name, isName, "ids of people");
  }

  role(fields: FieldReader, name: string): string | null {
    const value = fields.value(name) ?? null;
    if (value === null || this.#isRole(value)) return value;
    fields.addReason(
      name,
      this.#roles === null ? "must be the name of a role" : `must be one of ${this.#roles.join(", ")}`,
    );
    return null;
  }

  #isRole(item: Json): item is string {
    return isName(item) && (this.#roles?.includes(item) ?? true);
  }

  expression(fields: FieldReader, name: string): Expression | null {
    const source = fields.value(name);
    if (source === undefined) return null;
    if (typeof source !== "string") {
      fields.addReason(name, "must be an expression, as text");
      return null;
    }
    return this.parseExpression(fields, name, source, ruleVariables);
  }

  parseExpression(fields: FieldReader, name: string, source: string, variables: readonly string[]): Expression | null {
    const read = this.#language.read(source, variables, ruleFields);
    if (!("wrong" in read)) return read;
    fields.addReason(name, `cannot be parsed: ${read.wrong}`);
    return null;
  }

  #listOf<Item extends Json>(
    fields: FieldReader,
    name: string,
    isValid: (item: Json) => item is Item,
    form: string,
  ): readonly Item[] | null {
    const value = fields.value(name);
    if (value === undefined) return null;
    if (Array.isArray(value) && value.length >= 1 && value.length <= LIST_MAX && value.every(isValid)) return value;
    fields.addReason(name, `must be a list of 1 to ${LIST_MAX} of ${form}`);
    return null;
  }
}
