/** Characters that a browser would reorder, join or not show at all. Line breaks and tabs are not among them. */
const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

/** A part of a text: plain characters, or one hidden character by its code. */
export type TextPart =
  | { readonly is: "plain"; readonly text: string }
  | { readonly is: "hidden"; readonly code: string; readonly name: string };

const names: Readonly<Record<string, string>> = {
  "U+00A0": "no-break space",
  "U+00AD": "soft hyphen",
  "U+061C": "Arabic letter mark",
  "U+200B": "zero width space",
  "U+200C": "zero width non-joiner",
  "U+200D": "zero width joiner",
  "U+200E": "left-to-right mark",
  "U+200F": "right-to-left mark",
  "U+202A": "left-to-right embedding",
  "U+202B": "right-to-left embedding",
  "U+202C": "end of embedding",
  "U+202D": "left-to-right override",
  "U+202E": "right-to-left override",
  "U+2060": "word joiner",
  "U+2066": "left-to-right isolate",
  "U+2067": "right-to-left isolate",
  "U+2068": "first strong isolate",
  "U+2069": "end of isolate",
  "U+FEFF": "byte order mark",
  "U+0000": "null character",
  "U+0007": "bell",
  "U+0008": "backspace",
  "U+000D": "carriage return",
  "U+001B": "escape",
  "U+007F": "delete",
};

/** Splits a text at its hidden characters. */
export function textParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const { 0: character, index } of text.matchAll(hidden)) {
    if (index > from) parts.push({ is: "plain", text: text.slice(from, index) });
    const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
    parts.push({ is: "hidden", code, name: names[code] ?? "hidden character" });
    from = index + character.length;
  }
  if (from < text.length || text === "") parts.push({ is: "plain", text: text.slice(from) });
  return parts;
}

/** Returns whether a text has a character that a reader would not see. */
export function hasHiddenCharacters(text: string): boolean {
  return text.search(hidden) >= 0;
}
