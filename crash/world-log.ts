import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";

/** An effect in the world, in the terms of the scenario. */
export interface WorldEntry {
  /** The name of the scenario. */
  readonly of: string;
  readonly did: string;
  /** The target. Effects are counted by it, never by the key of the engine. */
  readonly to: string;
  /** The idempotency key, for a world that deduplicates. */
  readonly key?: string;
}

/** Marks an entry that is a report to a caller, not an effect. */
const REPORT_ENTRY = "told";

/**
 * The world outside the engine: a file that is only appended to. Its lines survive a kill, and the engine never reads
 * it.
 */
export class WorldLog {
  readonly #file: string;
  readonly #of: string;
  readonly #at: (point: string) => void;

  constructor(file: string, of: string, at: (point: string) => void = () => {}) {
    this.#file = file;
    this.#of = of;
    this.#at = at;
  }

  /** The file. Working trees are beside it. */
  get path(): string {
    return this.#file;
  }

  /** Appends an effect. It may happen although the caller dies before this returns. */
  async appendAsync(entry: Omit<WorldEntry, "of">): Promise<void> {
    await appendFile(this.#file, this.#line(entry));
  }

  /** Appends an entry synchronously. */
  append(entry: Omit<WorldEntry, "of">): void {
    appendFileSync(this.#file, this.#line(entry));
  }

  /** Records a report to a caller, which must stay true. */
  recordReport(what: string): void {
    this.append({ did: REPORT_ENTRY, to: what });
    this.#at(REPORT_ENTRY);
  }

  count(did: string, to: string): number {
    return readWorldEntries(this.#file).filter((entry) => entry.of === this.#of && entry.did === did && entry.to === to)
      .length;
  }

  #line(entry: Omit<WorldEntry, "of">): string {
    return `${JSON.stringify({ of: this.#of, ...entry })}\n`;
  }
}

/** Returns all effects in order. */
export function readWorldEntries(file: string): readonly WorldEntry[] {
  return readLines(file).filter(({ did }) => did !== REPORT_ENTRY);
}

/** Returns the reports of one scenario. */
export function readReports(file: string, scenario: string): readonly string[] {
  return readLines(file)
    .filter(({ did, of }) => did === REPORT_ENTRY && of === scenario)
    .map(({ to }) => to);
}

function readLines(file: string): readonly WorldEntry[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((text) => text !== "").map((text) => JSON.parse(text) as WorldEntry);
}
