/** Characters that a terminal would execute, reorder or hide: controls, bidi overrides, joiners, tags, fillers, lone surrogates. */
const controlCharacters = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Escapes every character that could move the cursor, set a title, fill the clipboard, or hide or reverse text. The
 * escapes are those of JSON, so escaped JSON has the same value.
 */
export function escapeControls(text: string): string {
  return text.replace(controlCharacters, unicodeEscape);
}

function unicodeEscape(character: string): string {
  let units = "";
  for (let index = 0; index < character.length; index += 1) {
    units += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
  return units;
}
