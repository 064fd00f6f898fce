import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Catch, Quarry } from "./hunter.ts";
import { knownSeeds } from "./known-seeds.ts";
import type { Planted } from "./plant.ts";

/** How the hunt for one planted wrong went. */
export interface Hunted {
  readonly name: string;
  /** The seed that found it, and the law it broke; null if it escaped. */
  readonly found: Catch["first"];
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

const NOTHING: Catch = { seeds: 0, steps: 0, first: null };

/** Looks for each planted wrong with the simulator, in a few processes that share the work. */
export async function hunt(
  bugs: readonly Planted[],
  bounds: Hunt,
  tell: (hunted: Hunted) => void,
): Promise<readonly Hunted[]> {
  const left = [...bugs];
  const hunted: Hunted[] = [];
  const work = async () => {
    const hunter = new Hunter();
    for (let bug = left.shift(); bug !== undefined; bug = left.shift()) {
      const from = bounds.known ? (knownSeeds[bug.name] ?? bounds.from) : bounds.from;
      const { first: found, seeds, steps } = await hunter.sendAfter({ bug, from, steps: bounds.steps });
      hunted.push({ name: bug.name, found, seeds, steps });
      tell({ name: bug.name, found, seeds, steps });
    }
    hunter.dismiss();
  };
  await Promise.all(Array.from({ length: bounds.jobs }, work));
  const order = bugs.map(({ name }) => name);
  return hunted.sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
}

/** A process that hunts; whoever it meets may be its end, and then another one goes on. */
class Hunter {
  #process: ChildProcess | null = null;

  sendAfter(quarry: Quarry): Promise<Catch> {
    const hunter = this.#process ?? fork(fileURLToPath(new URL("hunter.js", import.meta.url)));
    this.#process = hunter;
    return new Promise((resolve) => {
      const end = (caught: Catch) => {
        clearTimeout(timer);
        hunter.off("message", end).off("exit", died);
        resolve(caught);
      };
      const died = () => {
        this.#process = null;
        end(NOTHING);
      };
      const timer = setTimeout(() => hunter.kill("SIGKILL"), PATIENCE_MS);
      hunter.on("message", end).on("exit", died).send(quarry);
    });
  }

  dismiss(): void {
    this.#process?.disconnect();
  }
}
