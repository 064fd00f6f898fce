export function push<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const all = map.get(key) ?? [];
  if (all.length === 0) map.set(key, all);
  all.push(value);
}

/** The values of each key, in their order. */
export function grouped<Value>(
  values: readonly Value[],
  keyOf: (value: Value) => string,
): ReadonlyMap<string, readonly Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) push(groups, keyOf(value), value);
  return groups;
}
