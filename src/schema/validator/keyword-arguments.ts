import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import type { MeteredValidation } from "./metered-validation.ts";

/** Charges the cost of a pattern to the validation. */
export const spendOnPattern =
  (validation: MeteredValidation) =>
  (steps: number): void =>
    validation.spend(steps);

/** Returns the argument of a keyword as a text, or throws. The functions below do the same for other types. */
export function textArgument(argument: Json): string {
  if (typeof argument === "string") return argument;
  throw new Error("must be a text");
}

export function numberArgument(argument: Json): number {
  if (typeof argument === "number") return argument;
  throw new Error("must be a number");
}

export function countArgument(argument: Json): number {
  if (typeof argument === "number" && Number.isInteger(argument) && argument >= 0) return argument;
  throw new Error("must be a whole number from 0");
}

export function textListArgument(argument: Json): readonly string[] {
  if (
    Array.isArray(argument) &&
    argument.every((each) => typeof each === "string") &&
    new Set(argument).size === argument.length
  )
    return argument as readonly string[];
  throw new Error("must be a list of texts, each once");
}

export function objectArgument(argument: Json): readonly (readonly [string, Json])[] {
  if (isJsonObject(argument)) return Object.entries(argument as JsonObject);
  throw new Error("must be an object");
}

export function schemaListArgument(argument: Json): readonly Json[] {
  if (Array.isArray(argument) && argument.length > 0) return argument as readonly Json[];
  throw new Error("must be a list of schemas");
}
