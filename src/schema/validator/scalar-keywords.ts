import { fullFormats } from "ajv-formats/dist/formats.js";
import { canonicalJson } from "../../core/json/canonical-json.ts";
import { isJsonObject, type Json } from "../../core/values/json.ts";
import { boundedPattern } from "./bounded-pattern.ts";
import type { Keyword } from "./keyword.ts";
import { countArgument, numberArgument, spendOnPattern, textArgument, textListArgument } from "./keyword-arguments.ts";
import type { MeteredValidation, Validator } from "./metered-validation.ts";

/** Keywords for a value without its members. */
export const scalarKeywords: Readonly<Record<string, Keyword>> = {
  type: (argument) => typeKeyword(typeof argument === "string" ? [argument] : textListArgument(argument)),
  enum: (argument) => {
    if (!Array.isArray(argument)) throw new Error("must be a list of values");
    const allowed = new Set(argument.map(canonicalJson));
    const message = `must be equal to one of the allowed values (${enumText(argument)})`;
    return (value, validation) => allowed.has(canonicalText(value, validation)) || validation.report(message);
  },
  const: (argument) => {
    const expected = canonicalJson(argument);
    return (value, validation) =>
      canonicalText(value, validation) === expected || validation.report("must be equal to constant");
  },
  maximum: (argument) => numberKeyword(numberArgument(argument), "<=", (value, limit) => value <= limit),
  exclusiveMaximum: (argument) => numberKeyword(numberArgument(argument), "<", (value, limit) => value < limit),
  minimum: (argument) => numberKeyword(numberArgument(argument), ">=", (value, limit) => value >= limit),
  exclusiveMinimum: (argument) => numberKeyword(numberArgument(argument), ">", (value, limit) => value > limit),
  multipleOf: (argument) => {
    const step = numberArgument(argument);
    if (step <= 0) throw new Error("must be more than 0");
    return (value, validation) =>
      typeof value !== "number" || isMultiple(value, step) || validation.report(`must be multiple of ${step}`);
  },
  maxLength: (argument) => lengthKeyword(countArgument(argument), "more", (length, limit) => length <= limit),
  minLength: (argument) => lengthKeyword(countArgument(argument), "fewer", (length, limit) => length >= limit),
  pattern: (argument) => {
    const pattern = boundedPattern(textArgument(argument));
    return (value, validation) =>
      typeof value !== "string" ||
      pattern.test(value, spendOnPattern(validation)) ||
      validation.report(`must match pattern "${textArgument(argument)}"`);
  },
  format: (argument) => formatKeyword(textArgument(argument)),
};

/** Messages show at most this many of the values of an `enum`. */
const shownValuesMax = 20;

function enumText(values: readonly Json[]): string {
  const shown = JSON.stringify(values.slice(0, shownValuesMax));
  return values.length > shownValuesMax ? `${shown} and ${values.length - shownValuesMax} more` : shown;
}

/** Calculates with decimals, because a fraction such as 0.01 is inexact as a number. */
function isMultiple(value: number, step: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(step)) return value % step === 0;
  const [left, right] = [toDecimal(value), toDecimal(step)];
  const exponent = Math.min(left.exponent, right.exponent);
  const scale = (decimal: Decimal) => decimal.digits * 10n ** BigInt(decimal.exponent - exponent);
  return scale(left) % scale(right) === 0n;
}

/** The number `digits` times ten to the power of `exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

function toDecimal(value: number): Decimal {
  const [digits = "", exponent] = value.toExponential().split("e");
  const places = digits.split(".")[1]?.length ?? 0;
  return { digits: BigInt(digits.replace(".", "")), exponent: Number(exponent) - places };
}

const typeChecks: Readonly<Record<string, (value: Json) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  array: (value) => Array.isArray(value),
  object: (value) => isJsonObject(value),
};

function typeKeyword(names: readonly string[]): Validator {
  const checks = names.map((name) => {
    if (!Object.hasOwn(typeChecks, name)) throw new Error(`unknown type "${name}"`);
    return typeChecks[name] as (value: Json) => boolean;
  });
  const message = `must be ${names.join(",")}`;
  return (value, validation) => checks.some((check) => check(value)) || validation.report(message);
}

/** Returns the canonical text of a value, by which values are compared. Charges for its length. */
function canonicalText(value: Json, validation: MeteredValidation): string {
  const text = canonicalJson(value);
  validation.spend(text.length >> 6);
  return text;
}

function numberKeyword(limit: number, sign: string, isValid: (value: number, limit: number) => boolean): Validator {
  return (value, validation) =>
    typeof value !== "number" || isValid(value, limit) || validation.report(`must be ${sign} ${limit}`);
}

function lengthKeyword(limit: number, than: string, isValid: (length: number, limit: number) => boolean): Validator {
  const message = `must NOT have ${than} than ${limit} characters`;
  return (value, validation) =>
    typeof value !== "string" || isValid(codePointLength(value), limit) || validation.report(message);
}

/** Returns the number of code points. */
function codePointLength(value: string): number {
  let length = value.length;
  for (let index = 0; index < value.length - 1; index += 1)
    if (isHigh(value.charCodeAt(index)) && isLow(value.charCodeAt(index + 1))) length -= 1;
  return length;
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** The names of the formats that are checked. */
export const checkedFormats: readonly string[] = Object.entries(fullFormats).flatMap(([name, format]) =>
  format === true || format === undefined ? [] : [name],
);

/** A format that is not known is an annotation: it has no effect. */
function formatKeyword(name: string): Validator | null {
  if (!checkedFormats.includes(name)) return null;
  const format = fullFormats[name as keyof typeof fullFormats];
  const message = `must match format "${name}"`;
  if (typeof format === "object" && "type" in format && format.type === "number") {
    const check = format.validate as (value: number) => boolean;
    return (value, validation) => typeof value !== "number" || check(value) || validation.report(message);
  }
  const check = formatCheck(format);
  return (value, validation) => typeof value !== "string" || check(value) || validation.report(message);
}

function formatCheck(format: unknown): (value: string) => boolean {
  if (format instanceof RegExp) return (value) => format.test(value);
  if (typeof format === "function") return format as (value: string) => boolean;
  return formatCheck((format as { readonly validate: unknown }).validate);
}
