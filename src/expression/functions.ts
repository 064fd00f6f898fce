import { isObject, type Json } from "../core/json/json.ts";
import { type Meter, Unanswerable } from "./meter.ts";
import type { Part } from "./scope.ts";
import { contains } from "./search.ts";
import { kindOf, text } from "./values.ts";

type Call = (values: readonly Json[], meter: Meter) => Json;

interface Callable {
  /** With the value it is called on. */
  readonly takes: number;
  readonly call: Call;
}

const callables: Readonly<Record<string, Callable>> = {
  size: { takes: 1, call: ([value], meter) => size(value as Json, meter) },
  contains: { takes: 2, call: texts((whole, part, meter) => contains(whole, part, meter)) },
  startsWith: { takes: 2, call: texts((whole, part) => whole.startsWith(part)) },
  endsWith: { takes: 2, call: texts((whole, part) => whole.endsWith(part)) },
  lowerAscii: { takes: 1, call: ([value], meter) => lowered(text(value as Json, "lowerAscii: the text"), meter) },
};

/** A call by name, with the value it is called on first. */
export function call(name: string, parts: readonly Part[]): Part {
  const callable = Object.hasOwn(callables, name) ? callables[name] : undefined;
  if (callable === undefined) throw new Unanswerable(`there is no function ${name}`);
  if (parts.length !== callable.takes) throw new Unanswerable(`${name} is given too much or too little`);
  return (asked) => {
    asked.meter.burn(1);
    return callable.call(
      parts.map((part) => part(asked)),
      asked.meter,
    );
  };
}

function texts(answer: (whole: string, part: string, meter: Meter) => boolean): Call {
  return ([whole, part], meter) => {
    const [one, two] = [text(whole as Json, "the text"), text(part as Json, "what is looked for")];
    meter.burnFor(two.length);
    return answer(one, two, meter);
  };
}

function size(value: Json, meter: Meter): number {
  if (typeof value === "string") {
    meter.burnFor(value.length);
    let points = 0;
    for (const _ of value) points += 1;
    return points;
  }
  if (Array.isArray(value)) return value.length;
  if (!isObject(value)) throw new Unanswerable(`${kindOf(value)} has no size`);
  const { length } = Object.keys(value);
  meter.burn(length);
  return length;
}

function lowered(value: string, meter: Meter): string {
  meter.burnFor(value.length);
  return value.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
