/** The number of parallel children: a little more than the cores, since some children only wait. */
const concurrency = Number(process.env.WRIT_CRASH_JOBS ?? 3);

/** Runs the same work in several parallel loops. */
export async function runConcurrently(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: concurrency }, work));
}

/** Maps all items, a few at a time; the results have the order of the items. */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  await runConcurrently(async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as Item);
  });
  return results;
}
