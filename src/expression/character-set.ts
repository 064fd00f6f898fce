/** A set of characters: those in its ranges, or those in none of them. */
export interface CharacterSet {
  readonly ranges: readonly (readonly [number, number])[];
  readonly outside: boolean;
}

export function isInSet({ ranges, outside }: CharacterSet, point: number): boolean {
  for (const [first, last] of ranges) if (point >= first && point <= last) return !outside;
  return outside;
}

const code = (text: string): number => text.codePointAt(0) as number;
const range = (first: string, last: string): readonly [number, number] => [code(first), code(last)];

const digits = [range("0", "9")];
const word = [...digits, range("A", "Z"), range("a", "z"), range("_", "_")];
const space = [range("\t", "\n"), range("\f", "\r"), range(" ", " ")];

/** Every character except the line feed. */
export const ANY_CHARACTER: CharacterSet = { ranges: [range("\n", "\n")], outside: true };

/** The character sets that an escape such as `\d` means. */
export const namedSets: Readonly<Record<string, CharacterSet>> = {
  d: { ranges: digits, outside: false },
  D: { ranges: digits, outside: true },
  w: { ranges: word, outside: false },
  W: { ranges: word, outside: true },
  s: { ranges: space, outside: false },
  S: { ranges: space, outside: true },
};

/** The letters that mean one character after a backslash. An escaped sign means itself. */
export const escapedCharacters: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", f: "\f", v: "\v" };

export function singleCharacter(point: number): CharacterSet {
  return { ranges: [[point, point]], outside: false };
}
