import { hashOf } from "./trie-map.ts";

/** Chance that can be repeated: the same seed always says the same numbers in [0, 1), one after the other. */
export function randomFrom(seed: string): () => number {
  let state = hashOf(seed);
  return () => {
    // mulberry32: small, and good enough for anything that is no secret.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
