/** Returns the first characters of a digest, enough to compare two of them by eye. */
export function shortDigest(digest: string | null): string {
  return digest === null ? "none" : digest.slice(0, 12);
}
