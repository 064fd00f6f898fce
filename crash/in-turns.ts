/** How many children run at once: a little more than there are cores, since some of them only wait. */
const atOnce = Number(process.env.WRIT_CRASH_JOBS ?? 3);

/** Lets all hands do the same work at once, each for itself. */
export async function withAllHands(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** Does work on all items, a few at a time; the answers stand in the order of the items. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  await withAllHands(async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as Item);
  });
  return results;
}
