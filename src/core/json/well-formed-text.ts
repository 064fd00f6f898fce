// With the u flag only lone surrogates match, not the halves of a pair.
const loneSurrogate = /[\ud800-\udfff]/u;

/** True if UTF-8 can encode the text. Texts that differ only in lone surrogates would be stored as the same bytes. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}

/** Replaces each lone surrogate with the replacement character. */
export function toWellFormed(text: string): string {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}
