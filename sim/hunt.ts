import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
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
  /** After so many seeds it has escaped. */
  readonly seeds: number;
  /** At once. */
  readonly jobs: number;
}

/** So long may the search for one wrong take. */
const PATIENCE_MS = 120_000;

/** Looks for each planted wrong with the simulator, in a process of its own. */
export async function hunt(bugs: readonly Planted[], bounds: Hunt): Promise<readonly Hunted[]> {
  const left = [...bugs];
  const hunted: Hunted[] = [];
  const work = async () => {
    for (let bug = left.shift(); bug !== undefined; bug = left.shift()) hunted.push(await huntOne(bug, bounds));
  };
  await Promise.all(Array.from({ length: bounds.jobs }, work));
  const order = bugs.map(({ name }) => name);
  return hunted.sort((left, right) => order.indexOf(left.name) - order.indexOf(right.name));
}

async function huntOne(bug: Planted, { from, seeds }: Hunt): Promise<Hunted> {
  const main = plant(bug);
  const begun = performance.now();
  const answer = await run(main, [
    "--planted",
    "none",
    "--first",
    "--json",
    "--from",
    `${from}`,
    "--seeds",
    `${seeds}`,
  ]);
  rmSync(dirname(dirname(main)), { recursive: true, force: true });
  const { name } = bug;
  const ms = Math.round(performance.now() - begun);
  if (answer === null) return { name, found: { seed: from, law: "it never came to an end" }, seeds: 1, ms };
  return { name, found: answer.first, seeds: answer.seeds, ms };
}

interface Answer {
  readonly seeds: number;
  readonly first: { readonly seed: number; readonly law: string } | null;
}

/** Null: it had to be stopped. */
function run(main: string, args: readonly string[]): Promise<Answer | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
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
