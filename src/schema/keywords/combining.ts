import type { Json } from "../../core/json/json.ts";
import type { Keyword } from "../keyword.ts";
import type { Judge, Trial } from "../trial.ts";
import { schemas } from "./said.ts";

/** Words that ask other schemas about the same value. */
export const combining: Readonly<Record<string, Keyword>> = {
  $ref: (said, _, reader) => reader.refer(said),
  // There is one schema and no other around it: what is dynamic leads where any reference does.
  $dynamicRef: (said, _, reader) => reader.refer(said),
  allOf: (said, _, reader) => {
    const all = schemas(said).map((each) => reader.read(each));
    return (value, trial) => fitting(all, value, trial) === all.length;
  },
  anyOf: (said, _, reader) => {
    const all = schemas(said).map((each) => reader.read(each));
    return (value, trial) => {
      const { length } = trial.wrong;
      // All of them, since each may have something to say of other members.
      const fits = fitting(all, value, trial) > 0;
      if (fits) trial.forget(length);
      return fits || trial.says("must match a schema in anyOf");
    };
  },
  oneOf: (said, _, reader) => {
    const all = schemas(said).map((each) => reader.read(each));
    return (value, trial) => {
      const { length } = trial.wrong;
      const fits = fitting(all, value, trial) === 1;
      if (fits) trial.forget(length);
      return fits || trial.says("must match exactly one schema in oneOf");
    };
  },
  not: (said, _, reader) => {
    const judge = reader.read(said);
    return (value, trial) => !silently(judge, value, trial) || trial.says("must NOT be valid");
  },
  if: (said, { then = true, else: otherwise = true }, reader) => {
    const [asked, yes, no] = [said, then, otherwise].map((each) => reader.read(each)) as [Judge, Judge, Judge];
    return (value, trial) => {
      const { length } = trial.wrong;
      const holds = asked(value, trial);
      trial.forget(length);
      if ((holds ? yes : no)(value, trial)) return true;
      return trial.says(`must match "${holds ? "then" : "else"}" schema`);
    };
  },
};

/** How many of them it fits. */
function fitting(judges: readonly Judge[], value: Json, trial: Trial): number {
  let count = 0;
  for (const judge of judges) if (judge(value, trial)) count += 1;
  return count;
}

/** What it says is of no interest, nor what it has judged. */
function silently(judge: Judge, value: Json, trial: Trial): boolean {
  const { length } = trial.wrong;
  const { marks } = trial;
  trial.marks = null;
  const fits = judge(value, trial);
  trial.marks = marks;
  trial.forget(length);
  return fits;
}
