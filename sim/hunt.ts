import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { knownSeeds } from "./known-seeds.ts";
import { plant } from "./plant.ts";
import type { Planted } from "./planted.ts";

/** How the hunt for one planted wrong went. */
export interface Hunted {
  readonly name: string;
  /** The seed that found it, and the law it broke; null if it escaped. */
  readonly found: { readonly seed: number; readonly law: string } | null;
  readonly seeds: number;
  readonly ms: number;
}

export interface Hunt {
  readonly from: number;
  /** After so long it has escaped. */
  readonly ms: number;
  /** At once. */
  readonly jobs: number;
  /** Begin with the seed that found it before. */
  readonly known: boolean;
}

/** How much longer than its time a search may take before it is taken to hang. */
const GRACE_MS = 60_000;

/** Looks for each planted wrong with the simulator, in a process of its own. */
export async function hunt(
  bugs: readonly Planted[],
  bounds: Hunt,
  tell: (hunted: Hunted) => void,
): Promise<readonly Hunted[]> {
  const left = [...bugs];
  const hunted: Hunted[] = [];
  const work = async () => {
    for (let bug = left.shift(); bug !== undefined; bug = left.shift()) {
      const one = await huntOne(bug, bounds);
      hunted.push(one);
      tell(one);
    }
  };
  await Promise.all(Array.from({ length: bounds.jobs }, work));
  const order = bugs.map(({ name }) => name);
  return hunted.sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
}

async function huntOne(bug: Planted, { from, ms, known }: Hunt): Promise<Hunted> {
  const { name } = bug;
  const main = plant(bug);
  const begun = performance.now();
  const start = known ? (knownSeeds[name] ?? from) : from;
  const args = [
    "--planted",
    "none",
    "--first",
    "--json",
    "--seed",
    `${start}`,
    "--ms",
    `${ms}`,
    "--steps",
    "1000000000",
  ];
  const answer = await run(main, args, ms + GRACE_MS);
  rmSync(dirname(dirname(main)), { recursive: true, force: true });
  const took = Math.round(performance.now() - begun);
  if (answer === null) return { name, found: { seed: start, law: "it never came to an end" }, seeds: 1, ms: took };
  return { name, found: answer.first, seeds: answer.seeds, ms: took };
}

interface Answer {
  readonly seeds: number;
  readonly first: { readonly seed: number; readonly law: string } | null;
}

/** Null: it hung. */
function run(main: string, args: readonly string[], patienceMs: number): Promise<Answer | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    child.on("error", reject);
    child.on("close", () => {
      clearTimeout(timer);
      resolve(said === "" ? null : (JSON.parse(said) as Answer));
    });
  });
}
