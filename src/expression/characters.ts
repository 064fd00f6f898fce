/** A set of characters: those in its ranges, or those in none of them. */
export interface Characters {
  readonly ranges: readonly (readonly [number, number])[];
  readonly outside: boolean;
}

export function isIn({ ranges, outside }: Characters, point: number): boolean {
  for (const [first, last] of ranges) if (point >= first && point <= last) return !outside;
  return outside;
}

const code = (text: string): number => text.codePointAt(0) as number;
const range = (first: string, last: string): readonly [number, number] => [code(first), code(last)];

const digits = [range("0", "9")];
const word = [...digits, range("A", "Z"), range("a", "z"), range("_", "_")];
const space = [range("\t", "\n"), range("\f", "\r"), range(" ", " ")];

/** Everything but the end of a line. */
export const ANY: Characters = { ranges: [range("\n", "\n")], outside: true };

/** What stands for a set after a backslash. */
export const named: Readonly<Record<string, Characters>> = {
  d: { ranges: digits, outside: false },
  D: { ranges: digits, outside: true },
  w: { ranges: word, outside: false },
  W: { ranges: word, outside: true },
  s: { ranges: space, outside: false },
  S: { ranges: space, outside: true },
};

/** What stands for one character after a backslash, beside every sign that stands for itself. */
export const escaped: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", f: "\f", v: "\v" };

export function just(point: number): Characters {
  return { ranges: [[point, point]], outside: false };
}
