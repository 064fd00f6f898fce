import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";
import { pointerTo } from "./json-pointer.ts";
import { nearestName } from "./nearest-name.ts";
import type { ProblemList } from "./problem-list.ts";

/** The pattern of a text, and its description for messages. */
export interface TextRule {
  readonly pattern: RegExp;
  readonly form: string;
}

export interface NumberRange {
  readonly min: number;
  readonly max: number;
}

/** Reads the fields of one object from outside. A problem is added to the reasons, and the fallback is returned. */
export class FieldReader {
  readonly path: string;
  readonly #object: JsonObject;
  readonly #reasons: ProblemList;

  constructor(object: JsonObject, path: string, reasons: ProblemList) {
    this.#object = object;
    this.path = path;
    this.#reasons = reasons;
  }

  addReason(name: string, message: string | (() => string)): void {
    this.#reasons.add(pointerTo(this.path, name), message);
  }

  value(name: string): Json | undefined {
    return Object.hasOwn(this.#object, name) ? this.#object[name] : undefined;
  }

  refuseUnknown(known: readonly string[]): void {
    for (const name of Object.keys(this.#object)) {
      if (!known.includes(name)) this.addReason(name, () => unknownFieldProblem(name, known));
    }
  }

  text<Fallback>(name: string, rule: TextRule, fallback: Fallback): string | Fallback {
    const value = this.value(name);
    if (value === undefined) return fallback;
    if (typeof value === "string" && rule.pattern.test(value)) return value;
    this.addReason(name, `must be ${rule.form}`);
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
    if (chosen === undefined) this.addReason(name, `must be one of ${choices.join(", ")}`);
    return chosen ?? fallback;
  }

  wholeNumber(name: string, { min, max }: NumberRange): number | null {
    const value = this.value(name) ?? null;
    if (value === null) return null;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    this.addReason(name, `must be a whole number from ${min} to ${max}`);
    return null;
  }

  /** Returns true or false; absent is false. */
  flag(name: string): boolean {
    const value = this.value(name) ?? false;
    if (typeof value !== "boolean") this.addReason(name, "must be true or false");
    return value === true;
  }

  object(name: string): JsonObject {
    const value = this.value(name);
    if (value === undefined) return {};
    if (isJsonObject(value)) return value;
    this.addReason(name, "must be an object");
    return {};
  }

  list(name: string): readonly Json[] {
    const value = this.value(name);
    if (value === undefined) return [];
    if (Array.isArray(value)) return value;
    this.addReason(name, "must be a list");
    return [];
  }
}

function unknownFieldProblem(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? `no such field; there are ${known.join(", ")}` : `no such field; did you mean ${nearest}?`;
}
