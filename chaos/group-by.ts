export function pushToGroup<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const all = map.get(key) ?? [];
  if (all.length === 0) map.set(key, all);
  all.push(value);
}

/** Returns the values of each key, in their order. */
export function groupBy<Value>(
  values: readonly Value[],
  keyOf: (value: Value) => string,
): ReadonlyMap<string, readonly Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) pushToGroup(groups, keyOf(value), value);
  return groups;
}
