import type { Expression, Language } from "../core/expression.ts";
import { Fields } from "../core/json/fields.ts";
import { isObject, type Json } from "../core/json/json.ts";
import { pointerTo } from "../core/json/pointer.ts";
import type { Reasons } from "../core/json/reasons.ts";
import { variables } from "./case.ts";
import { Glob } from "./glob.ts";

const LIST_MAX = 200;
const WORD = /^[\w.:-]{1,64}$/;
const GLOB = /^[\w.*-]{1,100}$/;
/** As the names of principals are. */
const ROLE = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

/** Reads what the rules of a document are made of. What is wrong is told to the reasons, and reading goes on. */
export class Reader {
  readonly reasons: Reasons;
  readonly #language: Language;
  /** Null: whatever is named is one. */
  readonly #roles: readonly string[] | null;

  constructor(reasons: Reasons, language: Language, roles: readonly string[] | null) {
    this.reasons = reasons;
    this.#language = language;
    this.#roles = roles;
  }

  /** What says nothing. */
  get empty(): Fields {
    return new Fields({}, "", this.reasons);
  }

  /** An object within an object; null: there is none. */
  inner(fields: Fields, name: string): Fields | null {
    const value = fields.value(name);
    if (value === undefined) return null;
    if (!isObject(value)) {
      fields.fault(name, "must be an object");
      return null;
    }
    return new Fields(value, pointerTo(fields.path, name), this.reasons);
  }

  choices<const Choice extends string>(
    fields: Fields,
    name: string,
    choices: readonly Choice[],
  ): readonly Choice[] | null {
    return this.#listOf(fields, name, (item): item is Choice => choices.includes(item as Choice), choices.join(", "));
  }

  words(fields: Fields, name: string): readonly string[] | null {
    return this.#listOf(fields, name, (item): item is string => typeof item === "string" && WORD.test(item), "words");
  }

  globs(fields: Fields, name: string): readonly Glob[] | null {
    const isGlob = (item: Json): item is string => typeof item === "string" && GLOB.test(item);
    return (
      this.#listOf(fields, name, isGlob, "names of tools, in which * stands for anything")?.map(
        (item) => new Glob(item),
      ) ?? null
    );
  }

  /** A role that the document does not know would be a rule that never does what it says. */
  roles(fields: Fields, name: string): readonly string[] | null {
    const known = this.#roles === null ? "names of roles" : `roles of this policy: ${this.#roles.join(", ")}`;
    return this.#listOf(fields, name, (item): item is string => this.#isRole(item), known);
  }

  /** Ids of people. */
  names(fields: Fields, name: string): readonly string[] | null {
    const isName = (item: Json): item is string => typeof item === "string" && ROLE.test(item);
    return this.#listOf(fields, name, isName, "ids of people");
  }

  role(fields: Fields, name: string): string | null {
    const value = fields.value(name) ?? null;
    if (value === null || this.#isRole(value)) return value;
    fields.fault(
      name,
      this.#roles === null ? "must be the name of a role" : `must be one of ${this.#roles.join(", ")}`,
    );
    return null;
  }

  #isRole(item: Json): item is string {
    return typeof item === "string" && ROLE.test(item) && (this.#roles?.includes(item) ?? true);
  }

  expression(fields: Fields, name: string): Expression | null {
    const source = fields.value(name);
    if (source === undefined) return null;
    if (typeof source !== "string") {
      fields.fault(name, "must be an expression, as text");
      return null;
    }
    return this.read(fields, name, source, variables);
  }

  read(fields: Fields, name: string, source: string, known: readonly string[]): Expression | null {
    const read = this.#language.read(source, known);
    if (!("wrong" in read)) return read;
    fields.fault(name, `cannot be read: ${read.wrong}`);
    return null;
  }

  #listOf<Item extends Json>(
    fields: Fields,
    name: string,
    isOne: (item: Json) => item is Item,
    what: string,
  ): readonly Item[] | null {
    const value = fields.value(name);
    if (value === undefined) return null;
    if (Array.isArray(value) && value.length >= 1 && value.length <= LIST_MAX && value.every(isOne)) return value;
    fields.fault(name, `must be a list of 1 to ${LIST_MAX} of ${what}`);
    return null;
  }
}
