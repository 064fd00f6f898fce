import { FaultError, fault } from "../core/fault.ts";
import type { TreePath } from "./tree-path.ts";

const alternativesMax = 64;

/** Tells which paths a pattern means. Takes time in proportion to pattern × path, whatever the pattern. */
export function globMatcher(pattern: string): (path: TreePath) => boolean {
  const patterns = alternatives(pattern).map((one) => one.split("/"));
  return (path) => patterns.some((segments) => matches(segments, path, matchesDeep, segmentFits));
}

/** What `{a,b}` stands for, written out. */
function alternatives(pattern: string): readonly string[] {
  let open = [pattern];
  for (;;) {
    const spread = open.flatMap((one) => {
      const found = /\{([^{}]*)\}/.exec(one);
      if (found === null) return [one];
      const [whole, inside = ""] = found;
      return inside.split(",").map((part) => one.replace(whole, () => part));
    });
    if (spread.length > alternativesMax)
      throw new FaultError(fault("INVALID_INPUT", `a pattern has at most ${alternativesMax} alternatives`));
    if (spread.length === open.length) return spread;
    open = spread;
  }
}

const matchesDeep = (part: string | undefined): boolean => part === "**";

const segmentFits = (segment: string, name: string): boolean =>
  matches(
    [...segment],
    [...name],
    (part) => part === "*",
    (part, letter) => part === "?" || part === letter,
  );

/** One wildcard that stands for any number of parts: the last one seen is the only one worth going back to. */
function matches(
  pattern: readonly string[],
  parts: readonly string[],
  isWild: (part: string | undefined) => boolean,
  fits: (pattern: string, part: string) => boolean,
): boolean {
  let [at, taken] = [0, 0];
  let [wildAt, wildTaken] = [-1, 0];
  while (taken < parts.length) {
    const [wanted, part] = [pattern[at], parts[taken] as string];
    if (isWild(wanted)) {
      wildAt = at++;
      wildTaken = taken;
    } else if (wanted !== undefined && fits(wanted, part)) {
      at += 1;
      taken += 1;
    } else if (wildAt >= 0) {
      at = wildAt + 1;
      taken = ++wildTaken;
    } else {
      return false;
    }
  }
  while (isWild(pattern[at])) at += 1;
  return at === pattern.length;
}
