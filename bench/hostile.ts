import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { cel } from "../src/expression/cel.ts";
import { hostileData, hostileExpressions } from "./hostile-expressions.ts";
import { hostilePatches, runHostilePatch } from "./hostile-patches.ts";
import { hostileSchemas, runHostileSchema } from "./hostile-schemas.ts";

/** The goals: the time of each case, and the longest block of the event loop. */
const goals = { caseMs: 5, blockMs: 50 };

interface HostileCase {
  readonly kind: "expression" | "schema" | "patch";
  readonly about: string;
  readonly expected: string;
  run(): void;
}

const hostileCases: readonly HostileCase[] = [
  ...hostileExpressions.map(({ about, source, expected }) => ({
    kind: "expression" as const,
    about: `${about}: ${JSON.stringify(source.slice(0, 50))}`,
    expected,
    run: () => {
      const read = cel.read(source, Object.keys(hostileData));
      if (!("wrong" in read)) read.test(hostileData);
    },
  })),
  ...hostileSchemas.map((hostile) => ({
    kind: "schema" as const,
    about: `${hostile.about}: ${describeSchema(hostile.schema)}`,
    expected: hostile.expected,
    run: () => void runHostileSchema(hostile),
  })),
  ...hostilePatches.map((hostile) => ({
    kind: "patch" as const,
    about: hostile.about,
    expected: hostile.expected,
    run: () => void runHostilePatch(hostile),
  })),
];

function describeSchema(schema: unknown): string {
  const keys = typeof schema === "object" && schema !== null ? Object.keys(schema).join(" ") : String(schema);
  const pattern = (schema as { readonly pattern?: unknown } | null)?.pattern;
  return typeof pattern === "string" ? JSON.stringify(pattern.slice(0, 40)) : keys.slice(0, 40);
}

/** Returns the processor time, which does not include waiting for other processes. */
function cpuTime(work: () => void): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Measures a case five times: the first includes compilation, the best is its cost. */
async function measureCase(each: HostileCase) {
  const times: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    await setImmediate(); // Each case has its own turn of the event loop.
    times.push(cpuTime(each.run));
  }
  return { ...each, first: times[0] ?? 0, best: Math.min(...times) };
}

// Makes the validator once, before the measurements.
cpuTime(() => runHostileSchema({ about: "", schema: { type: "object" }, value: {}, expected: "fit" }));
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const results = [];
for (const each of hostileCases) results.push(await measureCase(each));
await setImmediate();
delay.disable();

for (const { kind, about, expected, first, best } of results) {
  const columns = [best, first].map((ms) => `${ms.toFixed(3).padStart(9)} ms`).join(" ");
  console.log(`${columns} ${kind.padEnd(11)}${expected.padEnd(8)}${about}`);
}
for (const kind of ["expression", "schema", "patch"]) {
  const those = results.filter((each) => each.kind === kind);
  const slowest = (of: "first" | "best") => Math.max(...those.map((each) => each[of])).toFixed(2);
  const slowCount = those.filter(({ best }) => best > goals.caseMs).length;
  console.log(
    `${those.length} of kind ${kind}: the slowest took ${slowest("best")} ms, the first time ${slowest("first")} ms; ${slowCount} took more than ${goals.caseMs} ms`,
  );
}
console.log(`the event loop was blocked for ${(delay.max / 1e6).toFixed(1)} ms at most; the goal is ${goals.blockMs}`);
