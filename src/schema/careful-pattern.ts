import { Meter, Unanswerable } from "../expression/meter.ts";
import { Pattern } from "../expression/pattern.ts";
import { effortOf } from "./pattern-guard.ts";
import { schemaLimits } from "./schema-limits.ts";

/** Steps that are taken without asking what else could be done: some two milliseconds of them, at worst. */
const stepsMax = 2_000_000;

interface CarefulPattern {
  /** `pay`: told what it takes before it is done, in steps through a schema; throws if that is too much. */
  test(text: string, pay: (steps: number) => void): boolean;
}

/**
 * A pattern that a text cannot keep busy. Where going back and forth is cheap the regular expressions of the language do it; where a
 * long text could make that grow, one that goes through the text once does, if it reads the pattern. Else there is no answer.
 */
export function carefulPattern(source: string): CarefulPattern {
  const native = new RegExp(source, "u");
  const { power, ways } = effortOf(source) ?? { power: Number.POSITIVE_INFINITY, ways: 1 };
  const once = hasAnotherMeaning(source) ? null : readable(source);
  return {
    test: (text, pay) => {
      const steps = ways * Math.max(text.length, 2) ** power;
      if (steps <= stepsMax) {
        pay(Math.ceil(steps / 400)); // Of so many at worst, each is that much quicker than one through a schema.
        return native.test(text);
      }
      if (once === null) throw new Error(`${text.length} characters are too many for the pattern ${source}`);
      const meter = new Meter(schemaLimits.patternSteps);
      const matches = once.test(text, meter);
      pay(meter.spent >> 2);
      return matches;
    },
  };
}

/** A space is more to the language than to those who go through a text once. */
function hasAnotherMeaning(source: string): boolean {
  return /\\s/i.test(source);
}

function readable(source: string): Pattern | null {
  try {
    return new Pattern(source);
  } catch (thrown) {
    if (thrown instanceof Unanswerable) return null;
    throw thrown;
  }
}
