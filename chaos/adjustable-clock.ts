import { openSync, readSync, writeSync } from "node:fs";
import type { Clock } from "../src/core/ports/clock.ts";
import type { Instant } from "../src/core/values/ids.ts";

/** The length of the text of an offset: each change is one write of this length. */
const TEXT_LENGTH = 16;

/** The wall clock of all processes of a test: the clock of the machine with an offset in a file. */
export class AdjustableClock implements Clock {
  readonly #file: number;
  readonly #text = Buffer.alloc(TEXT_LENGTH);

  constructor(file: string, purpose: "read" | "set" = "read") {
    this.#file = openSync(file, purpose === "set" ? "w+" : "r");
    if (purpose === "set") this.set(0);
  }

  now(): Instant {
    const length = readSync(this.#file, this.#text, 0, TEXT_LENGTH, 0);
    return (Date.now() + Number(this.#text.toString("latin1", 0, length))) as Instant;
  }

  /** Makes the clock of every process jump. */
  set(offsetMs: number): void {
    writeSync(this.#file, `${offsetMs}`.padEnd(TEXT_LENGTH), 0);
  }
}
