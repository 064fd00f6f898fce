import { canonicalJson } from "../../core/json/canonical-json.ts";
import type { Json } from "../../core/values/json.ts";
import type { Keyword, KeywordCompiler } from "./keyword.ts";
import { countArgument, schemaListArgument } from "./keyword-arguments.ts";
import type { MeteredValidation, Validator } from "./metered-validation.ts";

const commonArrayKeywords: Readonly<Record<string, Keyword>> = {
  maxItems: (argument) => itemCountKeyword(countArgument(argument), "more", (count, limit) => count <= limit),
  minItems: (argument) => itemCountKeyword(countArgument(argument), "fewer", (count, limit) => count >= limit),
  uniqueItems: (argument) => {
    if (typeof argument !== "boolean") throw new Error("must be true or false");
    return argument
      ? forArrays(
          (items, validation) => isUnique(items, validation) || validation.report("must NOT have duplicate items"),
        )
      : null;
  },
};

/** Keywords for the items of a list. `rest` has the keywords for items that no other keyword evaluated. */
export const arrayKeywords: Readonly<Record<"first" | "rest", Readonly<Record<string, Keyword>>>> = {
  first: {
    ...commonArrayKeywords,
    prefixItems: (argument, _, compiler) =>
      tupleKeyword(schemaListArgument(argument).map((each) => compiler.compile(each))),
    items: (argument, { prefixItems = [] }, compiler) =>
      itemsKeyword(argument, Array.isArray(prefixItems) ? prefixItems.length : 0, compiler),
    contains: (argument, { minContains = 1, maxContains }, compiler) => {
      const max = maxContains === undefined ? null : countArgument(maxContains);
      return containsKeyword(compiler.compile(argument), countArgument(minContains), max);
    },
  },
  rest: {
    unevaluatedItems: (argument, _, compiler) => {
      const validate = compiler.compile(argument);
      return forArrays((items, validation) => {
        const { evaluated: marks } = validation;
        const from = marks?.items ?? 0;
        const unevaluated = items.flatMap((_, index) => (index < from || marks?.indexes.has(index) ? [] : [index]));
        markItems(validation, items.length);
        if (argument === false && unevaluated.length > 0)
          return validation.report(`must NOT have more than ${from} items`);
        return everyItem(unevaluated, 0, (index) => validation.validateMember(index, items[index] as Json, validate));
      });
    },
  },
};

/** The same keywords in draft-07, in which a list of schemas is the argument of `items`. */
export const draft07ArrayKeywords: Readonly<Record<string, Keyword>> = {
  ...commonArrayKeywords,
  items: (argument, _, compiler) =>
    Array.isArray(argument)
      ? tupleKeyword(argument.map((each) => compiler.compile(each)))
      : itemsKeyword(argument, 0, compiler),
  additionalItems: (argument, { items }, compiler) =>
    Array.isArray(items) ? itemsKeyword(argument, items.length, compiler) : null,
  contains: (argument, _, compiler) => containsKeyword(compiler.compile(argument), 1, null),
};

/** Validates each of the first items by its own schema. */
function tupleKeyword(validators: readonly Validator[]): Validator {
  return forArrays((items, validation) => {
    markItems(validation, Math.min(validators.length, items.length));
    return everyItem(items.slice(0, validators.length), 0, (item, index) =>
      validation.validateMember(index, item, validators[index] as Validator),
    );
  });
}

/** Validates all items from an index on by one schema. */
function itemsKeyword(schema: Json, from: number, compiler: KeywordCompiler): Validator {
  const validate = compiler.compile(schema);
  return forArrays((items, validation) => {
    markItems(validation, items.length);
    if (schema === false && items.length > from) return validation.report(`must NOT have more than ${from} items`);
    return everyItem(items, from, (item, index) => validation.validateMember(index, item, validate));
  });
}

function containsKeyword(validate: Validator, min: number, max: number | null): Validator {
  return forArrays((items, validation) => {
    const { length } = validation.problems;
    let count = 0;
    for (const [index, item] of items.entries()) {
      if (!validation.validateMember(index, item, validate)) continue;
      validation.evaluated?.indexes.add(index);
      count += 1;
    }
    validation.discardProblems(length);
    return (count >= min && count <= (max ?? count)) || validation.report(containsText(min, max));
  });
}

function forArrays(validate: (items: readonly Json[], validation: MeteredValidation) => boolean): Validator {
  return (value, validation) => !Array.isArray(value) || validate(value, validation);
}

function everyItem<Item>(
  items: readonly Item[],
  from: number,
  isValid: (item: Item, index: number) => boolean,
): boolean {
  let all = true;
  for (let index = from; index < items.length; index += 1) if (!isValid(items[index] as Item, index)) all = false;
  return all;
}

function markItems({ evaluated: marks }: MeteredValidation, items: number): void {
  if (marks !== null) marks.items = Math.max(marks.items, items);
}

function itemCountKeyword(limit: number, than: string, isValid: (count: number, limit: number) => boolean): Validator {
  const message = `must NOT have ${than} than ${limit} items`;
  return forArrays(({ length }, validation) => isValid(length, limit) || validation.report(message));
}

function containsText(min: number, max: number | null): string {
  if (max === null) return `must contain at least ${min} valid item(s)`;
  return `must contain at least ${min} and no more than ${max} valid item(s)`;
}

/** Returns a text that equals no text item: a lone surrogate cannot occur in one. */
function canonicalItem(item: Json, validation: MeteredValidation): string {
  const text = canonicalJson(item);
  validation.spend(8 + (text.length >> 5));
  return `\ud800${text}`;
}

/** Uses a set: comparing every pair of a long list would block the process. */
function isUnique(items: readonly Json[], validation: MeteredValidation): boolean {
  const distinct = new Set<Json>();
  for (const item of items)
    distinct.add(typeof item === "object" && item !== null ? canonicalItem(item, validation) : item);
  return distinct.size === items.length;
}
