import type { Json } from "../../core/values/json.ts";
import type { Keyword } from "./keyword.ts";
import { schemaListArgument } from "./keyword-arguments.ts";
import type { MeteredValidation, Validator } from "./metered-validation.ts";

/** Keywords that apply other schemas to the same value. */
export const combiningKeywords: Readonly<Record<string, Keyword>> = {
  $ref: (argument, _, compiler) => compiler.compileReference(argument),
  allOf: (argument, _, compiler) => {
    const all = schemaListArgument(argument).map((each) => compiler.compile(each));
    return (value, validation) => countValid(all, value, validation) === all.length;
  },
  anyOf: (argument, _, compiler) => {
    const all = schemaListArgument(argument).map((each) => compiler.compile(each));
    return (value, validation) => {
      const { length } = validation.problems;
      // All schemas are applied, because each may evaluate other members.
      const isValid = countValid(all, value, validation) > 0;
      if (isValid) validation.discardProblems(length);
      return isValid || validation.report("must match a schema in anyOf");
    };
  },
  oneOf: (argument, _, compiler) => {
    const all = schemaListArgument(argument).map((each) => compiler.compile(each));
    return (value, validation) => {
      const { length } = validation.problems;
      const isValid = countValid(all, value, validation) === 1;
      if (isValid) validation.discardProblems(length);
      return isValid || validation.report("must match exactly one schema in oneOf");
    };
  },
  not: (argument, _, compiler) => {
    const validate = compiler.compile(argument);
    return (value, validation) =>
      !validateSilently(validate, value, validation) || validation.report("must NOT be valid");
  },
  if: (argument, { then = true, else: otherwise = true }, compiler) => {
    const [condition, whenTrue, whenFalse] = [argument, then, otherwise].map((each) => compiler.compile(each)) as [
      Validator,
      Validator,
      Validator,
    ];
    return (value, validation) => {
      const { length } = validation.problems;
      const holds = condition(value, validation);
      validation.discardProblems(length);
      if ((holds ? whenTrue : whenFalse)(value, validation)) return true;
      return validation.report(`must match "${holds ? "then" : "else"}" schema`);
    };
  },
};

export const dynamicReferenceKeywords: Readonly<Record<string, Keyword>> = {
  // There is no outer schema, so a dynamic reference resolves like any other.
  $dynamicRef: (argument, _, compiler) => compiler.compileReference(argument),
};

/** Returns the number of schemas that accept the value. */
function countValid(validators: readonly Validator[], value: Json, validation: MeteredValidation): number {
  let count = 0;
  validation.spend(validators.length >> 3);
  for (const validate of validators) if (validate(value, validation)) count += 1;
  return count;
}

/** Validates without recording problems or evaluated members. */
function validateSilently(validate: Validator, value: Json, validation: MeteredValidation): boolean {
  const { length } = validation.problems;
  const { evaluated: marks } = validation;
  validation.evaluated = null;
  const isValid = validate(value, validation);
  validation.evaluated = marks;
  validation.discardProblems(length);
  return isValid;
}
