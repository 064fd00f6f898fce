import type { Json } from "../core/json/json.ts";
import { type Meter, Unanswerable } from "./meter.ts";

/** One part of an expression, ready to be asked. */
export type Part = (asked: Asked) => Json;

/** What is asked about: the data, the items that rounds over lists are at, and what answering may still cost. */
export interface Asked {
  readonly data: Readonly<Record<string, Json>>;
  readonly items: Json[];
  readonly meter: Meter;
}

/** Which names mean something here: a variable of the data, or the item that a round is at. */
export class Scope {
  readonly #variables: readonly string[];
  readonly #items: readonly string[];

  constructor(variables: readonly string[], items: readonly string[] = []) {
    this.#variables = variables;
    this.#items = items;
  }

  /** How many rounds there are around. */
  get depth(): number {
    return this.#items.length;
  }

  within(item: string): Scope {
    if (this.#variables.includes(item) || this.#items.includes(item))
      throw new Unanswerable(`${item} means something already; call the item otherwise`);
    return new Scope(this.#variables, [...this.#items, item]);
  }

  part(name: string): Part {
    const at = this.#items.indexOf(name);
    if (at >= 0) return ({ items }) => items[at] as Json;
    if (!this.#variables.includes(name))
      throw new Unanswerable(`there is no ${name} here; there is ${this.#variables.join(", ")}`);
    return ({ data }) => {
      if (!Object.hasOwn(data, name)) throw new Unanswerable(`nothing is known of ${name}`);
      return data[name] as Json;
    };
  }
}
