/** A line that two texts both have, by its index in each. */
export type EqualLine = readonly [before: number, after: number];

/**
 * Returns lines that each text has once, in an order that both have, as many as possible. They split a long comparison
 * into short ones, so that it takes no quadratic time.
 */
export function equalLines(before: readonly string[], after: readonly string[]): readonly EqualLine[] {
  const places = uniquePlaces(after);
  const pairs: EqualLine[] = [];
  for (const [line, at] of uniquePlaces(before)) {
    const other = places.get(line);
    if (other !== undefined) pairs.push([at, other]);
  }
  return longestRise(pairs.sort(([one], [two]) => one - two));
}

/** Returns the place of each line that the text has only once. */
function uniquePlaces(lines: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [at, line] of lines.entries()) {
    if (places.has(line)) repeated.add(line);
    places.set(line, at);
  }
  for (const line of repeated) places.delete(line);
  return places;
}

/** Returns the longest list of pairs whose second places rise, too. */
function longestRise(pairs: readonly EqualLine[]): readonly EqualLine[] {
  const ends: number[] = [];
  const previous = new Int32Array(pairs.length).fill(-1);
  for (const [at, [, after]] of pairs.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] as number] as EqualLine)[1] < after) low = middle + 1;
      else high = middle;
    }
    previous[at] = ends[low - 1] ?? -1;
    ends[low] = at;
  }
  const rise: EqualLine[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = previous[at] as number) rise.push(pairs[at] as EqualLine);
  return rise.reverse();
}
