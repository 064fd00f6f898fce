import { isObject, type Json, type JsonObject } from "../core/json/json.ts";
import { parsePointer } from "../core/json/pointer.ts";
import type { Keyword, Reading } from "./keyword.ts";
import { combining } from "./keywords/combining.ts";
import { listing } from "./keywords/listing.ts";
import { naming } from "./keywords/naming.ts";
import { plain } from "./keywords/plain.ts";
import type { Judge, Marks, Trial } from "./trial.ts";

/** In this order: what judges the rest comes when all else has been judged. */
const keywords: Readonly<Record<string, Keyword>> = {
  ...plain,
  ...combining,
  ...naming.first,
  ...listing.first,
  ...naming.rest,
  ...listing.rest,
};

/** Makes a function of a JSON Schema. Each place is read once, when something leads to it, so that a schema may lead back to itself. */
export class SchemaReader implements Reading {
  readonly #whole: JsonObject;
  readonly #known = new Map<Json, Judge>();
  readonly #anchors = new Map<string, Json>();
  readonly #marks: boolean;

  constructor(whole: JsonObject) {
    this.#whole = whole;
    this.#marks = this.#survey(whole);
  }

  /** What a schema says, wherever it stands. */
  read(schema: Json | undefined): Judge {
    if (schema === true) return FITS;
    if (schema === false) return (_, trial) => trial.says("boolean schema is false");
    if (schema === undefined || !isObject(schema)) throw new Error("a schema must be an object, true or false");
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    let judge: Judge = FITS;
    // Whatever leads back here asks this one, which knows by then.
    this.#known.set(schema, (value, trial) => judge(value, trial));
    judge = this.#judging(wordsOf(schema).flatMap((word) => keywordOf(word, schema, this) ?? []));
    this.#known.set(schema, judge);
    return judge;
  }

  /** What a reference leads to. */
  refer(reference: Json): Judge {
    if (typeof reference !== "string") throw new Error("a reference must be a text");
    const fragment = decodeURIComponent(reference.slice(1));
    const tokens = parsePointer(fragment);
    const target =
      tokens === null ? this.#anchors.get(fragment) : tokens.reduce(memberOf, this.#whole as Json | undefined);
    if (target === undefined) throw new Error(`can't resolve reference ${reference}`);
    return this.read(target);
  }

  #judging(words: readonly Judge[]): Judge {
    const all: Judge = (value, trial) => {
      trial.enter();
      let fits = true;
      for (const word of words) if (!word(value, trial)) fits = false;
      trial.leave();
      return fits;
    };
    return this.#marks ? (value, trial) => marking(all, value, trial) : all;
  }

  /** Finds the anchors, and whether anyone judges the rest. */
  #survey(value: Json): boolean {
    if (typeof value !== "object" || value === null) return false;
    let marks = false;
    if (isObject(value)) {
      for (const name of [value.$anchor, value.$dynamicAnchor])
        if (typeof name === "string") this.#anchors.set(name, value);
      marks = Object.hasOwn(value, "unevaluatedProperties") || Object.hasOwn(value, "unevaluatedItems");
    }
    for (const inner of Object.values(value)) if (this.#survey(inner as Json)) marks = true;
    return marks;
  }
}

const FITS: Judge = () => true;

const order = new Map(Object.keys(keywords).map((word, index) => [word, index] as const));

function wordsOf(schema: JsonObject): readonly string[] {
  const words = Object.keys(schema).filter((word) => order.has(word));
  return words.sort((left, right) => (order.get(left) as number) - (order.get(right) as number));
}

/** What is wrong is told with the words that lead to it. */
function keywordOf(word: string, schema: JsonObject, reader: Reading): Judge | null {
  try {
    return (keywords[word] as Keyword)(schema[word] as Json, schema, reader);
  } catch (thrown) {
    throw new Error(`${word}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}

function memberOf(value: Json | undefined, token: string): Json | undefined {
  return typeof value === "object" && value !== null && Object.hasOwn(value, token)
    ? (value as Readonly<Record<string, Json>>)[token]
    : undefined;
}

/** What a schema has judged counts for whoever asked it about the same value, if it fits. */
function marking(judge: Judge, value: Json, trial: Trial): boolean {
  const outer = trial.marks;
  const own: Marks = { names: new Set(), items: 0, indexes: new Set() };
  trial.marks = own;
  const fits = judge(value, trial);
  trial.marks = outer;
  if (fits && outer !== null) {
    trial.burn((own.names.size + own.indexes.size) >> 3);
    for (const name of own.names) outer.names.add(name);
    for (const index of own.indexes) outer.indexes.add(index);
    outer.items = Math.max(outer.items, own.items);
  }
  return fits;
}
