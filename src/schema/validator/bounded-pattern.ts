import { EvaluationError, FuelMeter } from "../../expression/fuel-meter.ts";
import { LinearRegex } from "../../expression/linear-regex.ts";
import { patternCost } from "./pattern-cost.ts";
import { schemaLimits } from "./schema-limits.ts";

/** The maximum number of steps of the built-in engine: about two milliseconds in the worst case. */
const nativeStepsMax = 2_000_000;

interface BoundedPattern {
  /** Charges its cost to `spend`, in steps of a validation. `spend` throws if the limit is exceeded. */
  test(text: string, spend: (steps: number) => void): boolean;
}

/**
 * Compiles a pattern with bounded time. The built-in engine matches if backtracking is cheap for the length of the
 * text. Otherwise the linear engine matches, if it supports the pattern. If not, the test throws.
 */
export function boundedPattern(source: string): BoundedPattern {
  const native = new RegExp(source, "u");
  const { power, alternatives } = patternCost(source) ?? { power: Number.POSITIVE_INFINITY, alternatives: 1 };
  const linear = hasOtherMeaning(source) ? null : tryLinearRegex(source);
  return {
    test: (text, spend) => {
      const steps = alternatives * Math.max(text.length, 2) ** power;
      if (steps <= nativeStepsMax) {
        spend(Math.ceil(steps / 400)); // A step of the built-in engine is that much faster than one of a validation.
        return native.test(text);
      }
      if (linear === null) throw new Error(`${text.length} characters are too many for the pattern ${source}`);
      const meter = new FuelMeter(schemaLimits.patternSteps);
      const matches = linear.test(text, meter);
      spend(meter.spent >> 2);
      return matches;
    },
  };
}

/** True if the engines differ: `\s` matches more characters in the built-in engine. */
function hasOtherMeaning(source: string): boolean {
  return /\\s/i.test(source);
}

function tryLinearRegex(source: string): LinearRegex | null {
  try {
    return new LinearRegex(source);
  } catch (thrown) {
    if (thrown instanceof EvaluationError) return null;
    throw thrown;
  }
}
