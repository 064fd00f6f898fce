import type { Pending } from "./agenda.ts";

const KEPT = 60;

/** What goes on all the time is told only when it goes wrong. */
const humdrum = new Set(["timer", "claimDue", "nextDue", "head", "positions", "renew", "hint"]);
const asUsual = new Set(["done", "rang", "hinted"]);

interface Line {
  readonly step: number;
  readonly at: number;
  readonly pending: Pending;
  readonly how: string;
}

/** What happened, in order: a running hash of all of it, and the last lines in words. */
export class Trace {
  readonly #last: Line[] = [];
  readonly #about: string | null;
  #hash = 0x811c9dc5;
  #noted = 0;

  /** Lines that contain this are told as they happen; null for none. */
  constructor(about: string | null) {
    this.#about = about;
  }

  note(step: number, at: number, pending: Pending, how: string): void {
    this.#mix(at);
    this.#mix(pending.owner);
    this.#mixText(pending.name);
    this.#mixText(how);
    if (humdrum.has(pending.name) && asUsual.has(how)) return;
    const line = { step, at, pending, how };
    this.#last[this.#noted % KEPT] = line;
    this.#noted += 1;
    if (this.#about === null) return;
    const text = inWords(line);
    if (text.includes(this.#about)) console.error(text);
  }

  #mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ value, 0x01000193) >>> 0;
  }

  #mixText(text: string): void {
    for (let index = 0; index < text.length; index += 1) this.#mix(text.charCodeAt(index));
  }

  /** Any two runs that differ anywhere differ here. */
  get hash(): string {
    return this.#hash.toString(16).padStart(8, "0");
  }

  lines(): readonly string[] {
    return [...this.#last].sort((left, right) => left.step - right.step).map(inWords);
  }
}

function inWords({ step, at, pending: { name, owner, about }, how }: Line): string {
  const who = owner === 0 ? "  " : `w${owner}`;
  const what = typeof about === "string" ? about : about();
  return `${String(step).padStart(6)} ${String(at).padStart(7)} ms  ${who} ${name} ${what} → ${how}`;
}
