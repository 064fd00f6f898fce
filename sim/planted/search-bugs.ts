import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { BugSearchResult, BugSearchTask } from "./bug-search-process.ts";
import { knownSeeds } from "./known-seeds.ts";
import type { PlantedBug } from "./plant-bug.ts";

/** The result of the search for one planted bug. */
export interface BugSearch {
  readonly name: string;
  /** The seed that found it and the violated invariant; null: not found. */
  readonly found: BugSearchResult["first"];
  readonly seeds: number;
  readonly steps: number;
}

export interface BugSearchBounds {
  readonly from: number;
  /** The number of steps after which the bug counts as not found. */
  readonly steps: number;
  /** The number of parallel processes. */
  readonly jobs: number;
  /** Begin with the known seed of each bug. */
  readonly known: boolean;
}

/** A search without a result after this time hangs. */
const PROCESS_TIMEOUT_MS = 900_000;

const NOT_FOUND: BugSearchResult = { seeds: 0, steps: 0, first: null };

/** Searches for each planted bug with the simulator, in parallel processes. */
export async function searchBugs(
  bugs: readonly PlantedBug[],
  bounds: BugSearchBounds,
  report: (done: BugSearch) => void,
): Promise<readonly BugSearch[]> {
  const remaining = [...bugs];
  const done: BugSearch[] = [];
  const work = async () => {
    const process = new BugSearchProcess();
    for (let bug = remaining.shift(); bug !== undefined; bug = remaining.shift()) {
      const from = bounds.known ? (knownSeeds[bug.name] ?? bounds.from) : bounds.from;
      const { first: found, seeds, steps } = await process.search({ bug, from, steps: bounds.steps });
      done.push({ name: bug.name, found, seeds, steps });
      report({ name: bug.name, found, seeds, steps });
    }
    process.close();
  };
  await Promise.all(Array.from({ length: bounds.jobs }, work));
  const order = bugs.map(({ name }) => name);
  return done.sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
}

/** A process that searches. A bug may end it; then the next search starts a new process. */
class BugSearchProcess {
  #process: ChildProcess | null = null;

  search(task: BugSearchTask): Promise<BugSearchResult> {
    const process = this.#process ?? fork(fileURLToPath(new URL("bug-search-process.js", import.meta.url)));
    this.#process = process;
    return new Promise((resolve) => {
      const end = (result: BugSearchResult) => {
        clearTimeout(timer);
        process.off("message", end).off("exit", onExit);
        resolve(result);
      };
      const onExit = () => {
        this.#process = null;
        end(NOT_FOUND);
      };
      const timer = setTimeout(() => process.kill("SIGKILL"), PROCESS_TIMEOUT_MS);
      process.on("message", end).on("exit", onExit).send(task);
    });
  }

  close(): void {
    this.#process?.disconnect();
  }
}
