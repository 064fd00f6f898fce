/**
 * Calls `seen` for every failed assertion of the engine. A failed assertion only ends an attempt and could be missed, so
 * every error that is constructed is inspected.
 */
export function watchAssertions(seen: (message: string) => void): () => void {
  const real = globalThis.Error;
  globalThis.Error = new Proxy(real, {
    construct(target, given: readonly unknown[], made) {
      const message = String(given[0]);
      if (message.startsWith("invariant broken") || message.startsWith("unhandled variant")) seen(message);
      return Reflect.construct(target, given, made) as object;
    },
  });
  return () => {
    globalThis.Error = real;
  };
}
