/** How many children run at once: a little more than there are cores, since some of them only wait. */
const atOnce = Number(process.env.WRIT_CRASH_JOBS ?? 3);

/** Does work on all items, a few at a time; the answers stand in the order of the items. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  most = atOnce,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  const hand = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as Item);
  };
  await Promise.all(Array.from({ length: most }, hand));
  return results;
}
