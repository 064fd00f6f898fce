/** Longer patterns are not read at all. */
export const patternLengthMax = 1000;
/** A group repeated at most so often may contain choices; their number stays small. */
const repeatsMax = 10;

const tokens = /\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?|\)|\||[*+?]|\{\d+(?:,\d*)?\}|./gs;

interface Group {
  /** Holds something that matches texts of different lengths, or in different ways. */
  varies: boolean;
  /** Holds something without an upper bound. */
  unbounded: boolean;
}

/**
 * Whether a regular expression repeats a group that can itself match in many ways. On a text that almost matches, such
 * a pattern tries every way, and thirty characters keep the process busy for minutes. Errs on the side of refusing.
 */
export function mayExplode(pattern: string): boolean {
  const open: Group[] = [{ varies: false, unbounded: false }];
  let last: Group | null = null;
  for (const [token] of pattern.matchAll(tokens)) {
    const around = open.at(-1);
    if (around === undefined) return true;
    const repeats = repeatsOf(token);
    if (repeats !== null) {
      if (last !== null && explodes(last, repeats.max)) return true;
      around.varies ||= repeats.min !== repeats.max;
      around.unbounded ||= repeats.max === Number.POSITIVE_INFINITY;
      last = null;
    } else if (token.startsWith("(")) {
      open.push({ varies: false, unbounded: false });
    } else if (token === ")") {
      last = open.pop() ?? null;
      enclose(open.at(-1), last);
    } else {
      around.varies ||= token === "|";
      last = null;
    }
  }
  return false;
}

function explodes(group: Group, max: number): boolean {
  if (max > repeatsMax) return group.varies;
  return max > 1 && group.unbounded;
}

function enclose(around: Group | undefined, inner: Group | null): void {
  if (around === undefined || inner === null) return;
  around.varies ||= inner.varies;
  around.unbounded ||= inner.unbounded;
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
