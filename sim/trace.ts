import type { PendingAction } from "./virtual-scheduler.ts";

const MAX_LINES = 60;

/** Frequent actions, which are traced only if their result is unusual. */
const routineActions = new Set(["timer", "claimDue", "nextDue", "head", "positions", "renew", "hint"]);
const routineResults = new Set(["done", "fired", "hinted"]);

interface TraceLine {
  readonly step: number;
  readonly at: number;
  readonly pending: PendingAction;
  readonly how: string;
}

/** The trace of a simulation: a hash of all steps, and the last lines as text. */
export class Trace {
  readonly #last: TraceLine[] = [];
  readonly #about: string | null;
  #hash = 0x811c9dc5;
  #noted = 0;

  /** Prints lines that contain `about` immediately; null: none. */
  constructor(about: string | null) {
    this.#about = about;
  }

  note(step: number, at: number, pending: PendingAction, how: string): void {
    this.#mix(at);
    this.#mix(pending.owner);
    this.#mixText(pending.name);
    this.#mixText(how);
    if (routineActions.has(pending.name) && routineResults.has(how)) return;
    const line = { step, at, pending, how };
    this.#last[this.#noted % MAX_LINES] = line;
    this.#noted += 1;
    if (this.#about === null) return;
    const text = formatTraceLine(line);
    if (text.includes(this.#about)) console.error(text);
  }

  #mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ value, 0x01000193) >>> 0;
  }

  #mixText(text: string): void {
    for (let index = 0; index < text.length; index += 1) this.#mix(text.charCodeAt(index));
  }

  /** The hash of all steps, which differs if two simulations differ. */
  get hash(): string {
    return this.#hash.toString(16).padStart(8, "0");
  }

  lines(): readonly string[] {
    return [...this.#last].sort((left, right) => left.step - right.step).map(formatTraceLine);
  }
}

function formatTraceLine({ step, at, pending: { name, owner, about }, how }: TraceLine): string {
  const who = owner === 0 ? "  " : `w${owner}`;
  const what = typeof about === "string" ? about : about();
  return `${String(step).padStart(6)} ${String(at).padStart(7)} ms  ${who} ${name} ${what} → ${how}`;
}
