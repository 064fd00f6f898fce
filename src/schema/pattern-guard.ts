/** A group repeated at most so often may contain choices; their number stays small. */
const repeatsMax = 10;

const tokens = /\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?|\)|\||[*+?]|\{\d+(?:,\d*)?\}|./gs;

interface Group {
  /** Holds something that matches texts of different lengths, or in different ways. */
  varies: boolean;
  /** Holds something without an upper bound. */
  unbounded: boolean;
  /** In how many ways it may match, as far as that does not depend on the text. */
  ways: number;
}

/**
 * Whether a regular expression repeats a group that can itself match in many ways. On a text that almost matches, such
 * a pattern tries every way, and thirty characters keep the process busy for minutes. Errs on the side of refusing.
 */
export function mayExplode(pattern: string): boolean {
  return effortOf(pattern) === null;
}

/** What a pattern takes at most for a text of some length: `ways` times the length to this power. */
interface Effort {
  readonly power: number;
  readonly ways: number;
}

/** Null: it may explode. */
export function effortOf(pattern: string): Effort | null {
  const whole: Group = { varies: false, unbounded: false, ways: 1 };
  const open: Group[] = [whole];
  let last: Group | null = null;
  // What is not bound to the beginning is tried at every place.
  let power = pattern.startsWith("^") ? 0 : 1;
  for (const [token] of pattern.matchAll(tokens)) {
    const around = open.at(-1);
    if (around === undefined) return null;
    const repeats = repeatsOf(token);
    if (repeats !== null) {
      if (last !== null && explodes(last, repeats.max)) return null;
      const isUnbounded = repeats.max === Number.POSITIVE_INFINITY;
      around.varies ||= repeats.min !== repeats.max;
      around.unbounded ||= isUnbounded;
      if (isUnbounded) power += 1;
      else around.ways *= (repeats.max - repeats.min + 1) * (last?.ways ?? 1) ** Math.max(0, repeats.max - 1);
      last = null;
    } else if (token.startsWith("(")) {
      open.push({ varies: false, unbounded: false, ways: 1 });
    } else if (token === ")") {
      last = open.pop() ?? null;
      enclose(open.at(-1), last);
    } else {
      around.varies ||= token === "|";
      if (token === "|") around.ways += 1;
      // Another choice may be bound to nothing.
      if (token === "|" && open.length === 1) power = Math.max(power, 1);
      last = null;
    }
  }
  return { power, ways: whole.ways };
}

function explodes(group: Group, max: number): boolean {
  if (max > repeatsMax) return group.varies;
  return max > 1 && group.unbounded;
}

function enclose(around: Group | undefined, inner: Group | null): void {
  if (around === undefined || inner === null) return;
  around.varies ||= inner.varies;
  around.unbounded ||= inner.unbounded;
  around.ways *= inner.ways;
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
