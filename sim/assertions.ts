/**
 * The engine's assertions end an attempt and are told to whoever waits for it. Here nobody may overlook one, so every
 * error that is made is looked at while a simulation runs.
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
