import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";

/** Something that was done to the world, as the world saw it: in the words of the scenario, not of the engine. */
export interface Deed {
  /** Whose story it belongs to. */
  readonly of: string;
  readonly did: string;
  /** Whom or what it was done to: effects are counted by this, never by the engine's key. */
  readonly to: string;
  /** What came along as an idempotency key, for a world that promises to look at it. */
  readonly key?: string;
}

/** What the engine told someone: it changes nothing, but from then on it must stay true. */
const TOLD = "told";

/**
 * The outside world of a story: a file that is only ever appended to. What a process wrote before it was killed
 * stays, the engine never reads it, and whoever counts needs no engine.
 */
export class Witness {
  readonly #file: string;
  readonly #of: string;
  readonly #at: (point: string) => void;

  constructor(file: string, of: string, at: (point: string) => void = () => {}) {
    this.#file = file;
    this.#of = of;
    this.#at = at;
  }

  /** Does something to the world. It may happen though the caller dies before hearing of it. */
  async act(deed: Omit<Deed, "of">): Promise<void> {
    await appendFile(this.#file, this.#line(deed));
  }

  /** Notes something at once. */
  note(deed: Omit<Deed, "of">): void {
    appendFileSync(this.#file, this.#line(deed));
  }

  /** Someone was told this and may rely on it. */
  hears(what: string): void {
    this.note({ did: TOLD, to: what });
    this.#at(TOLD);
  }

  count(did: string, to: string): number {
    return deedsIn(this.#file).filter((deed) => deed.of === this.#of && deed.did === did && deed.to === to).length;
  }

  #line(deed: Omit<Deed, "of">): string {
    return `${JSON.stringify({ of: this.#of, ...deed })}\n`;
  }
}

/** All that a world has seen, in order. */
export function deedsIn(file: string): readonly Deed[] {
  return linesIn(file).filter(({ did }) => did !== TOLD);
}

/** All that was told in one story. */
export function toldIn(file: string, story: string): readonly string[] {
  return linesIn(file)
    .filter(({ did, of }) => did === TOLD && of === story)
    .map(({ to }) => to);
}

function linesIn(file: string): readonly Deed[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((text) => text !== "").map((text) => JSON.parse(text) as Deed);
}
