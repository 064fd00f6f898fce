import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";

/** Something that was done to the world, as the world saw it: in the words of the scenario, not of the engine. */
export interface Deed {
  readonly did: string;
  /** Whom or what it was done to: effects are counted by this, never by the engine's key. */
  readonly to: string;
  /** What came along as an idempotency key, for a world that promises to look at it. */
  readonly key?: string;
}

/**
 * The outside world of a scenario: a file that is only ever appended to. What a process wrote before it was killed
 * stays, the engine never reads it, and whoever counts needs no engine.
 */
export class Witness {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** Does something to the world. It may happen though the caller dies before hearing of it. */
  async act(deed: Deed): Promise<void> {
    await appendFile(this.#file, line(deed));
  }

  /** Notes something at once. */
  note(deed: Deed): void {
    appendFileSync(this.#file, line(deed));
  }

  deeds(): readonly Deed[] {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, "utf8").split("\n");
    return lines.filter((text) => text !== "").map((text) => JSON.parse(text) as Deed);
  }

  count(did: string, to: string): number {
    return this.deeds().filter((deed) => deed.did === did && deed.to === to).length;
  }
}

function line(deed: Deed): string {
  return `${JSON.stringify(deed)}\n`;
}
