import { fullFormats } from "ajv-formats/dist/formats.js";
import { canonical } from "../../core/json/canonical.ts";
import { isObject, type Json } from "../../core/json/json.ts";
import { carefulPattern } from "../careful-pattern.ts";
import type { Keyword } from "../keyword.ts";
import type { Judge, Trial } from "../trial.ts";
import { amount, number, pay, text, texts } from "./said.ts";

/** Words about a value by itself. */
export const plain: Readonly<Record<string, Keyword>> = {
  type: (said) => ofType(typeof said === "string" ? [said] : texts(said)),
  enum: (said) => {
    if (!Array.isArray(said) || said.length === 0) throw new Error("must be a list of values");
    const known = new Set(said.map(canonical));
    const message = `must be equal to one of the allowed values (${JSON.stringify(said)})`;
    return (value, trial) => known.has(textOf(value, trial)) || trial.says(message);
  },
  const: (said) => {
    const known = canonical(said);
    return (value, trial) => textOf(value, trial) === known || trial.says("must be equal to constant");
  },
  maximum: (said) => numeric(number(said), "<=", (value, limit) => value <= limit),
  exclusiveMaximum: (said) => numeric(number(said), "<", (value, limit) => value < limit),
  minimum: (said) => numeric(number(said), ">=", (value, limit) => value >= limit),
  exclusiveMinimum: (said) => numeric(number(said), ">", (value, limit) => value > limit),
  multipleOf: (said) => {
    const step = number(said);
    if (step <= 0) throw new Error("must be more than 0");
    const fits = (value: number) => Number.isInteger(value / step);
    return (value, trial) => typeof value !== "number" || fits(value) || trial.says(`must be multiple of ${step}`);
  },
  maxLength: (said) => ofLength(amount(said), "more", (length, limit) => length <= limit),
  minLength: (said) => ofLength(amount(said), "fewer", (length, limit) => length >= limit),
  pattern: (said) => {
    const pattern = carefulPattern(text(said));
    return (value, trial) =>
      typeof value !== "string" || pattern.test(value, pay(trial)) || trial.says(`must match pattern "${text(said)}"`);
  },
  format: (said) => ofFormat(text(said)),
};

const types: Readonly<Record<string, (value: Json) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  array: (value) => Array.isArray(value),
  object: (value) => isObject(value),
};

function ofType(names: readonly string[]): Judge {
  const checks = names.map((name) => {
    if (!Object.hasOwn(types, name)) throw new Error(`there is no type ${name}`);
    return types[name] as (value: Json) => boolean;
  });
  const message = `must be ${names.join(",")}`;
  return (value, trial) => checks.some((check) => check(value)) || trial.says(message);
}

/** Values are equal if their texts are; a large one is dear to write. */
function textOf(value: Json, trial: Trial): string {
  const written = canonical(value);
  trial.burn(written.length >> 6);
  return written;
}

function numeric(limit: number, sign: string, fits: (value: number, limit: number) => boolean): Judge {
  return (value, trial) => typeof value !== "number" || fits(value, limit) || trial.says(`must be ${sign} ${limit}`);
}

function ofLength(limit: number, than: string, fits: (length: number, limit: number) => boolean): Judge {
  const message = `must NOT have ${than} than ${limit} characters`;
  return (value, trial) => typeof value !== "string" || fits(lengthOf(value), limit) || trial.says(message);
}

/** In characters, as people count them. */
function lengthOf(value: string): number {
  let length = value.length;
  for (let index = 0; index < value.length - 1; index += 1)
    if (isHigh(value.charCodeAt(index)) && isLow(value.charCodeAt(index + 1))) length -= 1;
  return length;
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

function ofFormat(name: string): Judge | null {
  const format = Object.hasOwn(fullFormats, name) ? fullFormats[name as keyof typeof fullFormats] : true;
  if (format === true || format === undefined) throw new Error(`unknown format "${name}"`);
  const message = `must match format "${name}"`;
  if (typeof format === "object" && "type" in format && format.type === "number") {
    const check = format.validate as (value: number) => boolean;
    return (value, trial) => typeof value !== "number" || check(value) || trial.says(message);
  }
  const check = checkOf(format);
  return (value, trial) => typeof value !== "string" || check(value) || trial.says(message);
}

function checkOf(format: unknown): (value: string) => boolean {
  if (format instanceof RegExp) return (value) => format.test(value);
  if (typeof format === "function") return format as (value: string) => boolean;
  return checkOf((format as { readonly validate: unknown }).validate);
}
