import { hashText } from "./trie-map.ts";

/** A repeatable random source: the same seed always gives the same sequence of numbers in [0, 1). */
export function seededRandom(seed: string): () => number {
  let state = hashText(seed);
  return () => {
    // mulberry32: small, and sufficient where the numbers need not be secret.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
