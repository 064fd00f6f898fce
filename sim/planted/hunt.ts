import { spawn } from "node:child_process";
import { knownSeeds } from "./known-seeds.ts";
import { type Planted, plant } from "./plant.ts";

/** How the hunt for one planted wrong went. */
export interface Hunted {
  readonly name: string;
  /** The seed that found it, and the law it broke; null if it escaped. */
  readonly found: { readonly seed: number; readonly law: string } | null;
  readonly seeds: number;
  readonly steps: number;
}

export interface Hunt {
  readonly from: number;
  /** After so many it has escaped. */
  readonly steps: number;
  /** At once. */
  readonly jobs: number;
  /** Begin with the seed that found it before. */
  readonly known: boolean;
}

/** A search that says nothing for so long hangs. */
const PATIENCE_MS = 900_000;

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

async function huntOne(bug: Planted, { from, steps, known }: Hunt): Promise<Hunted> {
  const { main, remove } = plant(bug);
  const seed = known ? (knownSeeds[bug.name] ?? from) : from;
  const args = ["--planted", "none", "--first", "--json", "--seed", `${seed}`, "--steps", `${steps}`];
  const answer = await run(main, args);
  remove();
  return { name: bug.name, found: answer.first, seeds: answer.seeds, steps: answer.steps };
}

type Answer = Pick<Hunted, "seeds" | "steps"> & { readonly first: Hunted["found"] };

function run(main: string, args: readonly string[]): Promise<Answer> {
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
      resolve(said === "" ? { seeds: 0, steps: 0, first: null } : (JSON.parse(said) as Answer));
    });
  });
}
