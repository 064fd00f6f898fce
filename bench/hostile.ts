import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { cel } from "../src/expression/cel.ts";
import { hostileData, hostileExpressions } from "./hostile-expressions.ts";
import { endOfPatch, hostilePatches } from "./hostile-patches.ts";
import { endOfSchema, hostileSchemas } from "./hostile-schemas.ts";

/** What each may take, and what all of them may keep the event loop from. */
const goals = { caseMs: 5, blockMs: 50 };

interface Case {
  readonly kind: "expression" | "schema" | "patch";
  readonly about: string;
  readonly comesTo: string;
  run(): void;
}

const cases: readonly Case[] = [
  ...hostileExpressions.map(({ about, source, comesTo }) => ({
    kind: "expression" as const,
    about: `${about}: ${JSON.stringify(source.slice(0, 50))}`,
    comesTo,
    run: () => {
      const read = cel.read(source, Object.keys(hostileData));
      if (!("wrong" in read)) read.test(hostileData);
    },
  })),
  ...hostileSchemas.map((hostile) => ({
    kind: "schema" as const,
    about: `${hostile.about}: ${wordsOf(hostile.schema)}`,
    comesTo: hostile.comesTo,
    run: () => void endOfSchema(hostile),
  })),
  ...hostilePatches.map((hostile) => ({
    kind: "patch" as const,
    about: hostile.about,
    comesTo: hostile.comesTo,
    run: () => void endOfPatch(hostile),
  })),
];

function wordsOf(schema: unknown): string {
  const words = typeof schema === "object" && schema !== null ? Object.keys(schema).join(" ") : String(schema);
  const pattern = (schema as { readonly pattern?: unknown } | null)?.pattern;
  return typeof pattern === "string" ? JSON.stringify(pattern.slice(0, 40)) : words.slice(0, 40);
}

/** In time of the processor: neighbours on the machine, who keep it waiting, do not count. */
function taken(work: () => void): number {
  const begun = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

/** The first time pays for what the language compiles: the best of a few is what it takes. */
async function measured(each: Case) {
  const times: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    await setImmediate(); // One at a time, as they would come: what blocks is one of them.
    times.push(taken(each.run));
  }
  return { ...each, first: times[0] ?? 0, best: Math.min(...times) };
}

taken(() => endOfSchema({ about: "", schema: { type: "object" }, value: {}, comesTo: "fit" })); // The validator itself is made once.
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const found = [];
for (const each of cases) found.push(await measured(each));
await setImmediate();
delay.disable();

for (const { kind, about, comesTo, first, best } of found) {
  const columns = [best, first].map((ms) => `${ms.toFixed(3).padStart(9)} ms`).join(" ");
  console.log(`${columns} ${kind.padEnd(11)}${comesTo.padEnd(8)}${about}`);
}
for (const kind of ["expression", "schema", "patch"]) {
  const those = found.filter((each) => each.kind === kind);
  const slowest = (of: "first" | "best") => Math.max(...those.map((each) => each[of])).toFixed(2);
  const over = those.filter(({ best }) => best > goals.caseMs).length;
  console.log(
    `${those.length} of kind ${kind}: the slowest took ${slowest("best")} ms, the first time ${slowest("first")} ms; ${over} took more than ${goals.caseMs} ms`,
  );
}
console.log(`the event loop was blocked for ${(delay.max / 1e6).toFixed(1)} ms at most; the goal is ${goals.blockMs}`);
