import { isObject, type Json, type JsonObject } from "../../core/json/json.ts";
import type { Trial } from "../trial.ts";

/** What a pattern takes is paid by whoever asks it. */
export const pay =
  (trial: Trial) =>
  (steps: number): void =>
    trial.burn(steps);

/** What a word of a schema was given, as what it has to be. */
export function text(said: Json): string {
  if (typeof said === "string") return said;
  throw new Error("must be a text");
}

export function number(said: Json): number {
  if (typeof said === "number") return said;
  throw new Error("must be a number");
}

export function amount(said: Json): number {
  if (typeof said === "number" && Number.isInteger(said) && said >= 0) return said;
  throw new Error("must be a whole number from 0");
}

export function texts(said: Json): readonly string[] {
  if (Array.isArray(said) && said.every((each) => typeof each === "string") && new Set(said).size === said.length)
    return said as readonly string[];
  throw new Error("must be a list of texts, each once");
}

export function members(said: Json): readonly (readonly [string, Json])[] {
  if (isObject(said)) return Object.entries(said as JsonObject);
  throw new Error("must be an object");
}

export function schemas(said: Json): readonly Json[] {
  if (Array.isArray(said) && said.length > 0) return said as readonly Json[];
  throw new Error("must be a list of schemas");
}
