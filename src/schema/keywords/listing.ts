import { canonical } from "../../core/json/canonical.ts";
import type { Json } from "../../core/json/json.ts";
import type { Keyword } from "../keyword.ts";
import type { Judge, Trial } from "../trial.ts";
import { amount, schemas } from "./said.ts";

/** Words about the items of a list; `rest`: about those that nothing else was about. */
export const listing: Readonly<Record<"first" | "rest", Readonly<Record<string, Keyword>>>> = {
  first: {
    maxItems: (said) => counted(amount(said), "more", (count, limit) => count <= limit),
    minItems: (said) => counted(amount(said), "fewer", (count, limit) => count >= limit),
    uniqueItems: (said) => {
      if (typeof said !== "boolean") throw new Error("must be true or false");
      return said
        ? ofLists((items, trial) => isUnique(items, trial) || trial.says("must NOT have duplicate items"))
        : null;
    },
    prefixItems: (said, _, reader) => {
      const all = schemas(said).map((each) => reader.read(each));
      return ofLists((items, trial) => {
        mark(trial, Math.min(all.length, items.length));
        return each(items.slice(0, all.length), 0, (item, at) => trial.inside(at, item, all[at] as Judge));
      });
    },
    items: (said, { prefixItems = [] }, reader) => {
      const judge = reader.read(said);
      const from = Array.isArray(prefixItems) ? prefixItems.length : 0;
      return ofLists((items, trial) => {
        mark(trial, items.length);
        if (said === false && items.length > from) return trial.says(`must NOT have more than ${from} items`);
        return each(items, from, (item, at) => trial.inside(at, item, judge));
      });
    },
    contains: (said, { minContains = 1, maxContains }, reader) => {
      const judge = reader.read(said);
      const least = amount(minContains);
      const most = maxContains === undefined ? null : amount(maxContains);
      return ofLists((items, trial) => {
        const { length } = trial.wrong;
        let count = 0;
        for (const [at, item] of items.entries()) {
          if (!trial.inside(at, item, judge)) continue;
          trial.marks?.indexes.add(at);
          count += 1;
        }
        trial.forget(length);
        return (count >= least && count <= (most ?? count)) || trial.says(containsText(least, most));
      });
    },
  },
  rest: {
    unevaluatedItems: (said, _, reader) => {
      const judge = reader.read(said);
      return ofLists((items, trial) => {
        const { marks } = trial;
        const from = marks?.items ?? 0;
        const left = items.flatMap((_, at) => (at < from || marks?.indexes.has(at) ? [] : [at]));
        mark(trial, items.length);
        if (said === false && left.length > 0) return trial.says(`must NOT have more than ${from} items`);
        return each(left, 0, (at) => trial.inside(at, items[at] as Json, judge));
      });
    },
  },
};

function ofLists(judge: (items: readonly Json[], trial: Trial) => boolean): Judge {
  return (value, trial) => !Array.isArray(value) || judge(value, trial);
}

function each<Item>(items: readonly Item[], from: number, fits: (item: Item, at: number) => boolean): boolean {
  let all = true;
  for (let at = from; at < items.length; at += 1) if (!fits(items[at] as Item, at)) all = false;
  return all;
}

function mark({ marks }: Trial, items: number): void {
  if (marks !== null) marks.items = Math.max(marks.items, items);
}

function counted(limit: number, than: string, fits: (count: number, limit: number) => boolean): Judge {
  const message = `must NOT have ${than} than ${limit} items`;
  return ofLists(({ length }, trial) => fits(length, limit) || trial.says(message));
}

function containsText(least: number, most: number | null): string {
  if (most === null) return `must contain at least ${least} valid item(s)`;
  return `must contain at least ${least} and no more than ${most} valid item(s)`;
}

/** No item that is a text looks like this. */
function written(item: Json, trial: Trial): string {
  const text = canonical(item);
  trial.burn(8 + (text.length >> 5));
  return `\ud800${text}`;
}

/** Comparing every pair would let a long list stop the process. */
function isUnique(items: readonly Json[], trial: Trial): boolean {
  const known = new Set<Json>();
  for (const item of items) known.add(typeof item === "object" && item !== null ? written(item, trial) : item);
  return known.size === items.length;
}
