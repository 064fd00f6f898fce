/**
 * Throws if an invariant does not hold. Expected failures are faults; a broken invariant is a bug and ends the attempt.
 */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}

export function unreachable(value: never): never {
  throw new Error(`unhandled variant: ${JSON.stringify(value)}`);
}
