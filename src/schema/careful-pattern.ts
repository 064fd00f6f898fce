import { Meter, Unanswerable } from "../expression/meter.ts";
import { Pattern } from "../expression/pattern.ts";
import { effortOf } from "./pattern-guard.ts";
import { schemaLimits } from "./schema-limits.ts";

/** Steps that are taken without asking what else could be done: some ten milliseconds of them. */
const stepsMax = 10_000_000;

interface CarefulPattern {
  test(text: string): boolean;
  /** Validators know patterns by their text. */
  toString(): string;
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
    test: (text) => {
      if (ways * Math.max(text.length, 2) ** power <= stepsMax) return native.test(text);
      if (once === null) throw new Error(`${text.length} characters are too many for the pattern ${source}`);
      return once.test(text, new Meter(schemaLimits.patternSteps));
    },
    toString: () => native.toString(),
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
