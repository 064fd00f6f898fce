import type { Meter } from "./meter.ts";

/**
 * Whether a text contains another, in a time that grows with both and not with their product (Knuth, Morris, Pratt): the
 * search that is built in takes seconds for a megabyte of one letter.
 */
export function contains(text: string, part: string, meter: Meter): boolean {
  meter.burnFor(text.length + part.length);
  if (part === "") return true;
  const fallback = fallbacksOf(part);
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = fallback[matched - 1] as number;
    if (part.charCodeAt(matched) === unit) matched += 1;
    if (matched === part.length) return true;
  }
  return false;
}

/** For each beginning of a text: how much of it is still matched when what follows it does not fit. */
function fallbacksOf(part: string): Uint32Array {
  const fallback = new Uint32Array(part.length);
  for (let at = 1, matched = 0; at < part.length; at += 1) {
    const unit = part.charCodeAt(at);
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = fallback[matched - 1] as number;
    if (part.charCodeAt(matched) === unit) matched += 1;
    fallback[at] = matched;
  }
  return fallback;
}
