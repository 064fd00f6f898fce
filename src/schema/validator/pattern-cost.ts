/** A group that is repeated at most this often may contain choices, because the number of alternatives stays small. */
const repeatsMax = 10;

const tokens = /\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?|\)|\||[*+?]|\{\d+(?:,\d*)?\}|./gs;

interface PatternGroup {
  /** True if the group can match texts of different lengths, or in several ways. */
  varies: boolean;
  /** True if the group contains a repetition without an upper bound. */
  unbounded: boolean;
  /** The number of alternatives, without those that depend on the length of the text. */
  alternatives: number;
}

/**
 * Returns whether a regular expression repeats a group that can match in several ways. On a text that almost matches,
 * the engine tries every combination, so that thirty characters can block the process for minutes. It may return true
 * for a safe pattern.
 */
export function isExponential(pattern: string): boolean {
  return patternCost(pattern) === null;
}

/** The maximum number of steps of a pattern: `alternatives` times the length of the text to `power`. */
interface PatternCost {
  readonly power: number;
  readonly alternatives: number;
}

/** Returns null if the cost may be exponential. */
export function patternCost(pattern: string): PatternCost | null {
  const whole: PatternGroup = { varies: false, unbounded: false, alternatives: 1 };
  const open: PatternGroup[] = [whole];
  let last: PatternGroup | null = null;
  // A pattern without ^ is tried at every position.
  let power = pattern.startsWith("^") ? 0 : 1;
  for (const [token] of pattern.matchAll(tokens)) {
    const enclosing = open.at(-1);
    if (enclosing === undefined) return null;
    const repeats = repeatsOf(token);
    if (repeats !== null) {
      if (last !== null && isExponentialGroup(last, repeats.max)) return null;
      const isUnbounded = repeats.max === Number.POSITIVE_INFINITY;
      enclosing.varies ||= repeats.min !== repeats.max;
      enclosing.unbounded ||= isUnbounded;
      if (isUnbounded) power += 1;
      else
        enclosing.alternatives *=
          (repeats.max - repeats.min + 1) * (last?.alternatives ?? 1) ** Math.max(0, repeats.max - 1);
      last = null;
    } else if (token.startsWith("(")) {
      open.push({ varies: false, unbounded: false, alternatives: 1 });
    } else if (token === ")") {
      last = open.pop() ?? null;
      addToEnclosing(open.at(-1), last);
    } else {
      enclosing.varies ||= token === "|";
      if (token === "|") enclosing.alternatives += 1;
      // The other choice may have no ^.
      if (token === "|" && open.length === 1) power = Math.max(power, 1);
      last = null;
    }
  }
  return { power, alternatives: whole.alternatives };
}

function isExponentialGroup(group: PatternGroup, max: number): boolean {
  if (max > repeatsMax) return group.varies;
  return max > 1 && group.unbounded;
}

function addToEnclosing(enclosing: PatternGroup | undefined, inner: PatternGroup | null): void {
  if (enclosing === undefined || inner === null) return;
  enclosing.varies ||= inner.varies;
  enclosing.unbounded ||= inner.unbounded;
  enclosing.alternatives *= inner.alternatives;
}

function repeatsOf(token: string): { readonly min: number; readonly max: number } | null {
  if (token === "*") return { min: 0, max: Number.POSITIVE_INFINITY };
  if (token === "+") return { min: 1, max: Number.POSITIVE_INFINITY };
  if (token === "?") return { min: 0, max: 1 };
  const [, min, comma, max] = /^\{(\d+)(,?)(\d*)\}$/.exec(token) ?? [];
  if (min === undefined) return null;
  if (max !== "") return { min: Number(min), max: Number(max) };
  return { min: Number(min), max: comma === "" ? Number(min) : Number.POSITIVE_INFINITY };
}
