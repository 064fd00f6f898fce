/** What a terminal would obey, reorder or hide: controls, bidi overrides, joiners, tags, fillers, lone surrogates. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Text from outside as a terminal may show it: nothing in it moves the cursor, sets a title, fills the clipboard, hides or
 * turns around. What was there stays visible, as JSON would escape it, so escaped JSON is still the same JSON.
 */
export function neutral(text: string): string {
  return text.replace(unseen, escaped);
}

function escaped(character: string): string {
  let units = "";
  for (let index = 0; index < character.length; index += 1) {
    units += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
  return units;
}
