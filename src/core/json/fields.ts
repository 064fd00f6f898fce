import { isObject, type Json, type JsonObject } from "./json.ts";
import { nearest } from "./nearest.ts";
import { pointerTo } from "./pointer.ts";
import type { Reasons } from "./reasons.ts";

/** A text of a certain form, and that form in words. */
export interface TextRule {
  readonly pattern: RegExp;
  readonly form: string;
}

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** Reads the fields of one foreign object. What is wrong is told to the reasons, and reading goes on with the fallback. */
export class Fields {
  readonly path: string;
  readonly #object: JsonObject;
  readonly #reasons: Reasons;

  constructor(object: JsonObject, path: string, reasons: Reasons) {
    this.#object = object;
    this.path = path;
    this.#reasons = reasons;
  }

  fault(name: string, message: string | (() => string)): void {
    this.#reasons.add(pointerTo(this.path, name), message);
  }

  value(name: string): Json | undefined {
    return Object.hasOwn(this.#object, name) ? this.#object[name] : undefined;
  }

  onlyKnown(known: readonly string[]): void {
    for (const name of Object.keys(this.#object)) {
      if (!known.includes(name)) this.fault(name, () => unknownField(name, known));
    }
  }

  text<Fallback>(name: string, rule: TextRule, fallback: Fallback): string | Fallback {
    const value = this.value(name);
    if (value === undefined) return fallback;
    if (typeof value === "string" && rule.pattern.test(value)) return value;
    this.fault(name, `must be ${rule.form}`);
    return fallback;
  }

  choice<const Choice extends string, Fallback>(
    name: string,
    choices: readonly Choice[],
    fallback: Fallback,
  ): Choice | Fallback {
    const value = this.value(name);
    if (value === undefined) return fallback;
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) this.fault(name, `must be one of ${choices.join(", ")}`);
    return chosen ?? fallback;
  }

  whole(name: string, { min, max }: Range): number | null {
    const value = this.value(name) ?? null;
    if (value === null) return null;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    this.fault(name, `must be a whole number from ${min} to ${max}`);
    return null;
  }

  object(name: string): JsonObject {
    const value = this.value(name);
    if (value === undefined) return {};
    if (isObject(value)) return value;
    this.fault(name, "must be an object");
    return {};
  }

  list(name: string): readonly Json[] {
    const value = this.value(name);
    if (value === undefined) return [];
    if (Array.isArray(value)) return value;
    this.fault(name, "must be a list");
    return [];
  }
}

function unknownField(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant === null ? `no such field; there are ${known.join(", ")}` : `no such field; did you mean ${meant}?`;
}
