import { existsSync, readFileSync } from "node:fs";
import { linesIn } from "./history.ts";
import { Pen } from "./recorder.ts";

/** Something that was done to the world, as the world saw it. */
export interface Deed {
  readonly did: string;
  /** Whom or what it was done to: effects are counted by this, never by the engine's key. */
  readonly to: string;
  /** What came along as an idempotency key, for a world that promises to look at it. */
  readonly key: string;
  /** What the world answered. */
  readonly receipt: string;
  /** Through which worker. */
  readonly by: string;
}

/** The outside world: a file that all workers add to, and that the engine never reads. */
export class Witness {
  readonly #file: string;
  readonly #pen: Pen;
  readonly #by: string;
  #count = 0;

  constructor(file: string, by: string) {
    this.#file = file;
    this.#pen = new Pen(file);
    this.#by = by;
  }

  /** Does it, and answers with a receipt that no other deed has. */
  act(did: string, to: string, key: string): string {
    this.#count += 1;
    const receipt = `${this.#by}.${this.#count}`;
    this.#pen.write({ did, to, key, receipt, by: this.#by } satisfies Deed);
    return receipt;
  }

  /** What was done to someone, if it was. */
  find(did: string, to: string): Deed | undefined {
    return deedsIn(this.#file).find((deed) => deed.did === did && deed.to === to);
  }
}

/** All that a world has seen, in order. */
export function deedsIn(file: string): readonly Deed[] {
  return existsSync(file) ? linesIn<Deed>(readFileSync(file, "utf8")) : [];
}
