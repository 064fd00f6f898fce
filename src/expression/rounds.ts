import type { Json } from "../core/json/json.ts";
import { Unanswerable } from "./meter.ts";
import type { Asked, Part } from "./scope.ts";
import { list, truth } from "./values.ts";

/** How an answer is made of what is said of each item; `at`: where the round keeps the item it is at. */
type Round = (items: readonly Json[], of: (item: Json) => Json) => Json;

const rounds: Readonly<Record<string, Round>> = {
  exists: (items, of) => items.some((item) => truth(of(item), "what exists asks")),
  all: (items, of) => items.every((item) => truth(of(item), "what all asks")),
  exists_one: (items, of) => items.filter((item) => truth(of(item), "what exists_one asks")).length === 1,
  filter: (items, of) => items.filter((item) => truth(of(item), "what filter asks")),
  map: (items, of) => items.map(of),
};

export function isRound(name: string): boolean {
  return Object.hasOwn(rounds, name);
}

/** Asks something of every item of a list. Each costs a step, and what is asked of it costs its own. */
export function round(name: string, over: Part, each: Part, at: number): Part {
  const made = rounds[name];
  if (made === undefined) throw new Unanswerable(`there is no round ${name}`);
  return (asked) => {
    const items = list(over(asked), `what ${name} goes through`);
    return made(items, (item) => said(each, item, at, asked));
  };
}

function said(each: Part, item: Json, at: number, asked: Asked): Json {
  asked.meter.burn(1);
  asked.items[at] = item;
  return each(asked);
}
