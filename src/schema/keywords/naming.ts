import { isObject, type Json, type JsonObject } from "../../core/json/json.ts";
import { carefulPattern } from "../careful-pattern.ts";
import type { Keyword } from "../keyword.ts";
import type { Judge, Trial } from "../trial.ts";
import { amount, members, pay, texts } from "./said.ts";

/** Words about the members of an object; `rest`: about those that nothing else was about. */
export const naming: Readonly<Record<"first" | "rest", Readonly<Record<string, Keyword>>>> = {
  first: {
    maxProperties: (said) => counted(amount(said), "more", (count, limit) => count <= limit),
    minProperties: (said) => counted(amount(said), "fewer", (count, limit) => count >= limit),
    required: (said) => requiring(texts(said)),
    dependentRequired: (said) => all(members(said).map(([name, needs]) => ifThere(name, requiring(texts(needs))))),
    dependentSchemas: (said, _, reader) =>
      all(members(said).map(([name, schema]) => ifThere(name, reader.read(schema)))),
    dependencies: (said, _, reader) =>
      all(
        members(said).map(([name, needs]) =>
          ifThere(name, Array.isArray(needs) ? requiring(texts(needs)) : reader.read(needs)),
        ),
      ),
    propertyNames: (said, _, reader) => {
      const judge = reader.read(said);
      return ofObjects((value, trial) =>
        each(
          Object.keys(value),
          (name) => trial.inside(name, name, judge) || trial.says("property name must be valid"),
        ),
      );
    },
    properties: (said, _, reader) => {
      const known = members(said).map(([name, schema]) => [name, reader.read(schema)] as const);
      return ofObjects((value, trial) => {
        trial.burn(known.length >> 3);
        return each(known, ([name, judge]) => {
          if (!Object.hasOwn(value, name)) return true;
          trial.marks?.names.add(name);
          return trial.inside(name, value[name] as Json, judge);
        });
      });
    },
    patternProperties: (said, _, reader) => {
      const known = members(said).map(([source, schema]) => [carefulPattern(source), reader.read(schema)] as const);
      return ofObjects((value, trial) =>
        each(known, ([pattern, judge]) =>
          each(Object.keys(value), (name) => {
            trial.burn(1);
            if (!pattern.test(name, pay(trial))) return true;
            trial.marks?.names.add(name);
            return trial.inside(name, value[name] as Json, judge);
          }),
        ),
      );
    },
    additionalProperties: (said, { properties = {}, patternProperties = {} }, reader) => {
      const judge = reader.read(said);
      const known = new Set(members(properties).map(([name]) => name));
      const patterns = members(patternProperties).map(([source]) => carefulPattern(source));
      const isKnown = (name: string, trial: Trial) =>
        known.has(name) || patterns.some((pattern) => pattern.test(name, pay(trial)));
      return judgingRest(judge, said, isKnown, "must NOT have additional properties");
    },
  },
  rest: {
    unevaluatedProperties: (said, _, reader) => {
      const judge = reader.read(said);
      return (value, trial) => {
        const { marks } = trial;
        const isKnown = (name: string) => marks?.names.has(name) ?? false;
        return judgingRest(judge, said, isKnown, "must NOT have unevaluated properties")(value, trial);
      };
    },
  },
};

function judgingRest(
  judge: Judge,
  said: Json,
  isKnown: (name: string, trial: Trial) => boolean,
  message: string,
): Judge {
  return ofObjects((value, trial) =>
    each(Object.keys(value), (name) => {
      trial.burn(1);
      if (isKnown(name, trial)) return true;
      trial.marks?.names.add(name);
      return said === false ? trial.says(message, name) : trial.inside(name, value[name] as Json, judge);
    }),
  );
}

function ofObjects(judge: (value: JsonObject, trial: Trial) => boolean): Judge {
  return (value, trial) => !isObject(value) || judge(value, trial);
}

/** Every one of them is asked, since everything that is wrong is told. */
function each<Item>(items: readonly Item[], fits: (item: Item) => boolean): boolean {
  let all = true;
  for (const item of items) if (!fits(item)) all = false;
  return all;
}

function all(judges: readonly Judge[]): Judge {
  return (value, trial) => each(judges, (judge) => judge(value, trial));
}

function ifThere(name: string, judge: Judge): Judge {
  return (value, trial) => {
    trial.burn(1);
    return !isObject(value) || !Object.hasOwn(value, name) || judge(value, trial);
  };
}

function requiring(names: readonly string[]): Judge {
  return ofObjects((value, trial) => {
    trial.burn(names.length >> 3);
    return each(names, (name) => Object.hasOwn(value, name) || trial.says(`must have required property '${name}'`));
  });
}

function counted(limit: number, than: string, fits: (count: number, limit: number) => boolean): Judge {
  const message = `must NOT have ${than} than ${limit} properties`;
  return ofObjects((value, trial) => {
    const count = Object.keys(value).length;
    trial.burn(count >> 3);
    return fits(count, limit) || trial.says(message);
  });
}
