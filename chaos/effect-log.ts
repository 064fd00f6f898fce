import { existsSync, readFileSync } from "node:fs";
import { LineAppender } from "./record-store.ts";
import { parseJsonLines } from "./store-history.ts";

/** An effect in the world. */
export interface LoggedEffect {
  readonly did: string;
  /** The target. Effects are counted by it, never by the key of the engine. */
  readonly to: string;
  /** The idempotency key, for a world that deduplicates. */
  readonly key: string;
  /** The answer of the world. */
  readonly receipt: string;
  /** The name of the worker. */
  readonly by: string;
}

/** The world outside the engine: a file that all workers append to, and that the engine never reads. */
export class EffectLog {
  readonly #file: string;
  readonly #appender: LineAppender;
  readonly #by: string;
  #count = 0;

  constructor(file: string, by: string) {
    this.#file = file;
    this.#appender = new LineAppender(file);
    this.#by = by;
  }

  /** Appends an effect and returns its unique receipt. */
  append(did: string, to: string, key: string): string {
    this.#count += 1;
    const receipt = `${this.#by}.${this.#count}`;
    this.#appender.write({ did, to, key, receipt, by: this.#by } satisfies LoggedEffect);
    return receipt;
  }

  /** Returns the effect on a target, if it happened. */
  find(did: string, to: string): LoggedEffect | undefined {
    return readLoggedEffects(this.#file).find((effect) => effect.did === did && effect.to === to);
  }
}

/** Returns all effects in order. */
export function readLoggedEffects(file: string): readonly LoggedEffect[] {
  return existsSync(file) ? parseJsonLines<LoggedEffect>(readFileSync(file, "utf8")) : [];
}
