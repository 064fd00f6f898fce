import type { VariableFields } from "../core/ports/expression.ts";
import type { Json } from "../core/values/json.ts";
import { EvaluationError, type FuelMeter } from "./fuel-meter.ts";

/** A compiled part of an expression. */
export type Evaluator = (context: EvaluationContext) => Json;

/** The data, the current items of list macros, and the remaining fuel of one evaluation. */
export interface EvaluationContext {
  readonly data: Readonly<Record<string, Json>>;
  readonly items: Json[];
  readonly meter: FuelMeter;
}

/** The names that an expression may use: variables of the data and items of enclosing list macros. */
export class Scope {
  readonly #variables: readonly string[];
  readonly #fields: VariableFields;
  readonly #items: readonly string[];

  constructor(variables: readonly string[], fields: VariableFields, items: readonly string[] = []) {
    this.#variables = variables;
    this.#fields = fields;
    this.#items = items;
  }

  /** The number of enclosing list macros. */
  get depth(): number {
    return this.#items.length;
  }

  withItem(item: string): Scope {
    if (this.#variables.includes(item) || this.#items.includes(item))
      throw new EvaluationError(`${item} is already defined; use another name for the item`);
    return new Scope(this.#variables, this.#fields, [...this.#items, item]);
  }

  /** Throws if the variable cannot have the field. */
  assertField(variable: string, field: string): void {
    const known = Object.hasOwn(this.#fields, variable) ? (this.#fields[variable] as readonly string[]) : null;
    if (known !== null && !known.includes(field))
      throw new EvaluationError(`${variable} has no field ${field}; its fields are ${known.join(", ")}`);
  }

  compileName(name: string): Evaluator {
    const index = this.#items.indexOf(name);
    if (index >= 0) return ({ items }) => items[index] as Json;
    if (!this.#variables.includes(name))
      throw new EvaluationError(`${name} is not defined; the variables are ${this.#variables.join(", ")}`);
    return ({ data }) => {
      if (!Object.hasOwn(data, name)) throw new EvaluationError(`${name} has no value`);
      return data[name] as Json;
    };
  }
}
