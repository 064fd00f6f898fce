import type { FuelMeter } from "./fuel-meter.ts";

/**
 * Returns whether a text contains another, in linear time (Knuth, Morris, Pratt). The built-in search can take seconds
 * for a megabyte of one letter.
 */
export function containsText(text: string, part: string, meter: FuelMeter): boolean {
  meter.spendForText(text.length + part.length);
  if (part === "") return true;
  const fallback = fallbackTable(part);
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = fallback[matched - 1] as number;
    if (part.charCodeAt(matched) === unit) matched += 1;
    if (matched === part.length) return true;
  }
  return false;
}

/** Returns, for each prefix of a text, the length of the match that remains if the next character differs. */
function fallbackTable(part: string): Uint32Array {
  const fallback = new Uint32Array(part.length);
  for (let at = 1, matched = 0; at < part.length; at += 1) {
    const unit = part.charCodeAt(at);
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = fallback[matched - 1] as number;
    if (part.charCodeAt(matched) === unit) matched += 1;
    fallback[at] = matched;
  }
  return fallback;
}
