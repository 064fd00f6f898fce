/** By planted wrong: a seed that finds it soon. Where the engine has changed since, the search goes on from there. */
export const knownSeeds: Readonly<Record<string, number>> = {};
