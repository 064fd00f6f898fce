/**
 * Returns the number of items that built-in arrays, maps and sets visit while `run` executes. It distinguishes
 * quadratic from linear cost like a clock, with the same result on every machine.
 */
export function countOperations(run: () => void): number {
  let count = 0;
  const restores = countedMethods.flatMap(({ holder, names, weight }) =>
    names.map((name) => {
      const plain = Object.getOwnPropertyDescriptor(holder, name) as PropertyDescriptor & { value: Method };
      const counted: Method = function (this: unknown, ...given) {
        count += weight(this);
        return Reflect.apply(plain.value, this, given);
      };
      Object.defineProperty(holder, name, { ...plain, value: counted });
      return () => Object.defineProperty(holder, name, plain);
    }),
  );
  try {
    run();
  } finally {
    for (const restore of restores) restore();
  }
  return count;
}

type Method = (this: unknown, ...given: readonly unknown[]) => unknown;

interface CountedMethods {
  readonly holder: object;
  readonly names: readonly PropertyKey[];
  readonly weight: (self: unknown) => number;
}

const wholeList = "concat every filter find findIndex flatMap forEach includes indexOf join map reduce slice some sort";
const one = () => 1;

const countedMethods: readonly CountedMethods[] = [
  {
    holder: Array.prototype,
    names: [...wholeList.split(" "), "entries", "keys", "values", Symbol.iterator],
    weight: (self) => (self as readonly unknown[]).length,
  },
  { holder: Array.prototype, names: ["push", "pop"], weight: one },
  { holder: Map.prototype, names: ["get", "has", "set", "delete"], weight: one },
  { holder: Set.prototype, names: ["has", "add", "delete"], weight: one },
  ...[Map.prototype, Set.prototype].map((holder) => ({
    holder,
    names: ["entries", "forEach", "keys", "values", Symbol.iterator],
    weight: (self: unknown) => (self as ReadonlySet<unknown>).size,
  })),
];
