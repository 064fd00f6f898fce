import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import { boundedPattern } from "./bounded-pattern.ts";
import type { Keyword } from "./keyword.ts";
import { countArgument, objectArgument, spendOnPattern, textListArgument } from "./keyword-arguments.ts";
import type { MeteredValidation, Validator } from "./metered-validation.ts";

/**
 * Keywords for the members of an object. Draft-07 has only the `common` ones. `rest` has the keywords for members that no
 * other keyword evaluated.
 */
export const objectKeywords: Readonly<Record<"common" | "dependent" | "rest", Readonly<Record<string, Keyword>>>> = {
  common: {
    maxProperties: (argument) => memberCountKeyword(countArgument(argument), "more", (count, limit) => count <= limit),
    minProperties: (argument) => memberCountKeyword(countArgument(argument), "fewer", (count, limit) => count >= limit),
    required: (argument) => requireNames(textListArgument(argument)),
    dependencies: (argument, _, compiler) =>
      validateAll(
        objectArgument(argument).map(([name, needs]) =>
          ifPresent(name, Array.isArray(needs) ? requireNames(textListArgument(needs)) : compiler.compile(needs)),
        ),
      ),
    propertyNames: (argument, _, compiler) => {
      const validate = compiler.compile(argument);
      return forObjects((value, validation) =>
        everyMember(
          Object.keys(value),
          (name) => validation.validateMember(name, name, validate) || validation.report("property name must be valid"),
        ),
      );
    },
    properties: (argument, _, compiler) => {
      const known = objectArgument(argument).map(([name, schema]) => [name, compiler.compile(schema)] as const);
      return forObjects((value, validation) => {
        validation.spend(known.length >> 3);
        return everyMember(known, ([name, validate]) => {
          if (!Object.hasOwn(value, name)) return true;
          validation.evaluated?.names.add(name);
          return validation.validateMember(name, value[name] as Json, validate);
        });
      });
    },
    patternProperties: (argument, _, compiler) => {
      const known = objectArgument(argument).map(
        ([source, schema]) => [boundedPattern(source), compiler.compile(schema)] as const,
      );
      return forObjects((value, validation) =>
        everyMember(known, ([pattern, validate]) =>
          everyMember(Object.keys(value), (name) => {
            validation.spend(1);
            if (!pattern.test(name, spendOnPattern(validation))) return true;
            validation.evaluated?.names.add(name);
            return validation.validateMember(name, value[name] as Json, validate);
          }),
        ),
      );
    },
    additionalProperties: (argument, { properties = {}, patternProperties = {} }, compiler) => {
      const validate = compiler.compile(argument);
      const known = new Set(objectArgument(properties).map(([name]) => name));
      const patterns = objectArgument(patternProperties).map(([source]) => boundedPattern(source));
      const isKnown = (name: string, validation: MeteredValidation) =>
        known.has(name) || patterns.some((pattern) => pattern.test(name, spendOnPattern(validation)));
      return validateOthers(validate, argument, isKnown, "must NOT have additional properties");
    },
  },
  dependent: {
    dependentRequired: (argument) =>
      validateAll(
        objectArgument(argument).map(([name, needs]) => ifPresent(name, requireNames(textListArgument(needs)))),
      ),
    dependentSchemas: (argument, _, compiler) =>
      validateAll(objectArgument(argument).map(([name, schema]) => ifPresent(name, compiler.compile(schema)))),
  },
  rest: {
    unevaluatedProperties: (argument, _, compiler) => {
      const validate = compiler.compile(argument);
      return (value, validation) => {
        const { evaluated: marks } = validation;
        const isKnown = (name: string) => marks?.names.has(name) ?? false;
        return validateOthers(validate, argument, isKnown, "must NOT have unevaluated properties")(value, validation);
      };
    },
  },
};

function validateOthers(
  validate: Validator,
  argument: Json,
  isKnown: (name: string, validation: MeteredValidation) => boolean,
  message: string,
): Validator {
  return forObjects((value, validation) =>
    everyMember(Object.keys(value), (name) => {
      validation.spend(1);
      if (isKnown(name, validation)) return true;
      validation.evaluated?.names.add(name);
      return argument === false
        ? validation.report(message, name)
        : validation.validateMember(name, value[name] as Json, validate);
    }),
  );
}

function forObjects(validate: (value: JsonObject, validation: MeteredValidation) => boolean): Validator {
  return (value, validation) => !isJsonObject(value) || validate(value, validation);
}

/** Checks all items even after a failure, so that all problems are recorded. */
function everyMember<Item>(items: readonly Item[], isValid: (item: Item) => boolean): boolean {
  let all = true;
  for (const item of items) if (!isValid(item)) all = false;
  return all;
}

function validateAll(validators: readonly Validator[]): Validator {
  return (value, validation) => everyMember(validators, (validate) => validate(value, validation));
}

function ifPresent(name: string, validate: Validator): Validator {
  return (value, validation) => {
    validation.spend(1);
    return !isJsonObject(value) || !Object.hasOwn(value, name) || validate(value, validation);
  };
}

function requireNames(names: readonly string[]): Validator {
  return forObjects((value, validation) => {
    validation.spend(names.length >> 3);
    return everyMember(
      names,
      (name) => Object.hasOwn(value, name) || validation.report(`must have required property '${name}'`),
    );
  });
}

function memberCountKeyword(
  limit: number,
  than: string,
  isValid: (count: number, limit: number) => boolean,
): Validator {
  const message = `must NOT have ${than} than ${limit} properties`;
  return forObjects((value, validation) => {
    const count = Object.keys(value).length;
    validation.spend(count >> 3);
    return isValid(count, limit) || validation.report(message);
  });
}
