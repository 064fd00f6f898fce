import { FaultError, fault } from "../core/values/fault.ts";
import type { TreePath } from "./tree-path.ts";

const alternativesMax = 64;

/**
 * Returns a function that tells whether a path matches the pattern. Its cost is at most pattern length × path length.
 */
export function globMatcher(pattern: string): (path: TreePath) => boolean {
  const patterns = expandBraces(pattern).map((one) => one.split("/"));
  return (path) => patterns.some((segments) => matchesWithWildcard(segments, path, isGlobstar, matchesSegment));
}

/** Expands each `{a,b}` into one pattern per alternative. */
function expandBraces(pattern: string): readonly string[] {
  let patterns = [pattern];
  for (;;) {
    const expanded = patterns.flatMap((one) => {
      const found = /\{([^{}]*)\}/.exec(one);
      if (found === null) return [one];
      const [whole, inside = ""] = found;
      return inside.split(",").map((part) => one.replace(whole, () => part));
    });
    if (expanded.length > alternativesMax)
      throw new FaultError(fault("INVALID_INPUT", `the pattern has more than ${alternativesMax} alternatives`));
    if (expanded.length === patterns.length) return expanded;
    patterns = expanded;
  }
}

const isGlobstar = (part: string | undefined): boolean => part === "**";

const matchesSegment = (segment: string, name: string): boolean =>
  matchesWithWildcard(
    [...segment],
    [...name],
    (part) => part === "*",
    (part, character) => part === "?" || part === character,
  );

/**
 * Matches with one kind of wildcard, which matches any number of parts. On a mismatch it returns to the last wildcard
 * only; an earlier one cannot match where the last one fails.
 */
function matchesWithWildcard(
  pattern: readonly string[],
  parts: readonly string[],
  isWild: (part: string | undefined) => boolean,
  matches: (pattern: string, part: string) => boolean,
): boolean {
  let [at, consumed] = [0, 0];
  let [wildAt, wildConsumed] = [-1, 0];
  while (consumed < parts.length) {
    const [wanted, part] = [pattern[at], parts[consumed] as string];
    if (isWild(wanted)) {
      wildAt = at++;
      wildConsumed = consumed;
    } else if (wanted !== undefined && matches(wanted, part)) {
      at += 1;
      consumed += 1;
    } else if (wildAt >= 0) {
      at = wildAt + 1;
      consumed = ++wildConsumed;
    } else {
      return false;
    }
  }
  while (isWild(pattern[at])) at += 1;
  return at === pattern.length;
}
