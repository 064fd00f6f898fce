import { cel } from "../src/expression/cel.ts";
import { hostileData, hostileExpressions } from "./hostile-expressions.ts";

/** What one expression came to, and how long it took to say so, reading it included. */
function timed(source: string): { readonly ms: number; readonly spent: number } {
  const begun = performance.now();
  const read = cel.read(source, Object.keys(hostileData));
  const spent = "wrong" in read ? 0 : read.test(hostileData).spent;
  return { ms: performance.now() - begun, spent };
}

/** The first time pays for the compiler, and every time for the neighbours on the machine: the best of a few is what it takes. */
const found = hostileExpressions.map(({ about, source, comesTo }) => {
  const times = Array.from({ length: 5 }, () => timed(source));
  const first = times[0]?.ms ?? 0;
  return { about, source, comesTo, first, best: Math.min(...times.map(({ ms }) => ms)), spent: times[0]?.spent ?? 0 };
});

for (const { about, source, comesTo, first, best, spent } of found) {
  const shown = source.length > 50 ? `${source.slice(0, 47)}...` : source;
  console.log(
    `${best.toFixed(3).padStart(8)} ms ${first.toFixed(3).padStart(8)} ms ${String(spent).padStart(6)} ${comesTo.padEnd(8)}${about}: ${JSON.stringify(shown)}`,
  );
}
const slowest = (of: "first" | "best") => Math.max(...found.map((each) => each[of])).toFixed(2);
console.log(
  `${found.length} expressions; the slowest took ${slowest("best")} ms, the first time ${slowest("first")} ms`,
);
