import type { Json } from "../core/json/json.ts";
import { type Meter, Unanswerable } from "./meter.ts";
import type { Part } from "./scope.ts";
import { field, list, number, order, same, truth } from "./values.ts";

type Operator = (left: Json, right: Json, meter: Meter) => Json;

const operators: Readonly<Record<string, Operator>> = {
  "==": same,
  "!=": (left, right, meter) => !same(left, right, meter),
  "<": (left, right, meter) => order(left, right, meter) < 0,
  "<=": (left, right, meter) => order(left, right, meter) <= 0,
  ">": (left, right, meter) => order(left, right, meter) > 0,
  ">=": (left, right, meter) => order(left, right, meter) >= 0,
  in: isAmong,
  "+": sum,
  "-": (left, right) => finite(number(left, "what is before -") - number(right, "what is after -")),
  "*": (left, right) => finite(number(left, "what is before *") * number(right, "what is after *")),
  "/": (left, right) => finite(number(left, "what is before /") / number(right, "what is after /")),
  "%": (left, right) => finite(number(left, "what is before %") % number(right, "what is after %")),
};

/** What stands between two parts. */
export function between(name: string, left: Part, right: Part): Part {
  if (name === "&&" || name === "||") return logical(name, left, right);
  const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
  if (operator === undefined) throw new Unanswerable(`${name} is not in the language`);
  return (asked) => {
    asked.meter.burn(1);
    return operator(left(asked), right(asked), asked.meter);
  };
}

/** From left to right, as it reads: an error before the answer is an error, whatever comes after it. */
function logical(name: "&&" | "||", left: Part, right: Part): Part {
  const decides = name === "||";
  return (asked) => {
    asked.meter.burn(1);
    if (truth(left(asked), `what is before ${name}`) === decides) return decides;
    return truth(right(asked), `what is after ${name}`);
  };
}

function isAmong(value: Json, whole: Json, meter: Meter): boolean {
  if (Array.isArray(whole)) return whole.some((item) => same(value, item as Json, meter));
  return field(whole, value) !== undefined;
}

function sum(left: Json, right: Json, meter: Meter): Json {
  if (typeof left === "number") return finite(left + number(right, "what is after +"));
  if (typeof left === "string" && typeof right === "string") {
    meter.burnFor(left.length + right.length);
    return left + right;
  }
  const [before, after] = [list(left, "what is before +"), list(right, "what is after +")];
  meter.burn(before.length + after.length);
  return [...before, ...after];
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new Unanswerable("what it computes is no number");
  return value;
}
