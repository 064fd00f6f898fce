/** Values that one function produces and another one reads, in order, while they come. */
export class LiveQueue<Value> {
  readonly #values: Value[] = [];
  #ended = false;
  #wake: () => void = () => {};

  push(value: Value): void {
    this.#values.push(value);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Value> {
    for (;;) {
      while (this.#values.length > 0) yield this.#values.shift() as Value;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** Returns the output of a function. One that comes piece by piece is read to its end: its last value is the output. */
export async function lastValue(output: unknown, push: (value: unknown) => void): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const value of output as AsyncIterable<unknown>) {
    last = value;
    push(value);
  }
  return last;
}
