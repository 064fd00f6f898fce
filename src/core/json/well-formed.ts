// With the u flag a surrogate that is half of a pair is not matched, only one that stands alone.
const loneSurrogate = /[\ud800-\udfff]/u;

/** Text that UTF-8 can carry. Two texts with different lone surrogates would reach the disk as the same bytes. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}

/** The text with a replacement character for each lone surrogate. */
export function toWellFormed(text: string): string {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}
