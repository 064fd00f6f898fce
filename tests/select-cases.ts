/** True if each test takes all of its cases, as `npm run proofs` does. `npm test` takes a fixed part of the slow ones. */
export const takesAllCases = process.env.WRIT_CASES === "all";

/** Returns every nth case, or all of them in `npm run proofs`. */
export function selectCases<T>(cases: readonly T[], every: number): readonly T[] {
  return takesAllCases ? cases : cases.filter((_, index) => index % every === 0);
}
