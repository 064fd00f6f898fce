import { type CheckedJson, hazard, type JsonLimits, loneSurrogate, Meter, utf8Length } from "./check-json.ts";
import { numberProblem } from "./decimal.ts";
import type { Json } from "./json.ts";
import { pointerTo } from "./pointer.ts";
import { isWellFormed } from "./well-formed.ts";

/**
 * Reads JSON text and refuses what two readers could understand differently: repeated keys, numbers that a double cannot
 * hold, lone surrogates, keys that reach for prototypes. All of it is told at once; after a mistake of syntax or at a
 * limit nothing more is read. Depth costs no stack.
 */
export function parseStrict(text: string, limits: JsonLimits): CheckedJson {
  const scan = new Scan(text, limits);
  scan.whole();
  const { none, reasons, full, tooDeep } = scan.meter;
  if (!none) return { ok: false, reasons: reasons.list, tooLarge: full || tooDeep, rest: null };
  // Every rule was checked, and about the rest the platform's reader and ours cannot differ.
  return { ok: true, value: JSON.parse(text) as Json };
}

/** An object or array that is not closed yet. */
interface Open {
  readonly close: "}" | "]";
  readonly keys: Set<string>;
  /** How many members were begun. */
  count: number;
}

const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const wordToken = /true|false|null/y;
const escapeToken = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

class Scan {
  readonly meter: Meter;
  /** Where the reader is. */
  readonly #place: (string | number)[] = [];
  readonly #text: string;
  readonly #bytesMax: number;
  readonly #open: Open[] = [];
  #at = 0;
  #over = false;

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#bytesMax = limits.bytes;
    this.meter = new Meter(limits);
  }

  whole(): void {
    // A text longer than the limit is not even measured.
    const tooLong = this.#text.length > this.#bytesMax;
    this.meter.count(0, tooLong ? this.#text.length : utf8Length(this.#text));
    this.#over = this.meter.full;
    if (!this.#over) this.#value();
    for (let open = this.#open.at(-1); open !== undefined && !this.#over; open = this.#open.at(-1)) this.#member(open);
    this.#space();
    if (!this.#over && this.#at < this.#text.length) this.#mistake("nothing may follow the value");
  }

  /** Closes what is open, or reads its next member. */
  #member(open: Open): void {
    this.#space();
    const place = this.#place;
    if (open.count > 0) place.pop();
    if (this.#takes(open.close)) {
      this.#open.pop();
      return;
    }
    if (open.count > 0 && !this.#takes(",")) {
      this.#mistake(`expected , or ${open.close}`);
      return;
    }
    place.push(open.count);
    open.count += 1;
    if (open.close === "]" || this.#key(open)) this.#value();
  }

  /** Reads a key and its colon; what is wrong with the key is told at its place. */
  #key({ keys }: Open): boolean {
    const place = this.#place;
    this.#space();
    const key = this.#string();
    if (key === null) return false;
    const danger = hazard(key, place.at(-2));
    place[place.length - 1] = key;
    if (danger !== null) this.#fault(danger);
    if (keys.has(key)) this.#fault(`the key ${JSON.stringify(key)} is repeated; keep one`);
    if (!isWellFormed(key)) this.#fault(loneSurrogate);
    keys.add(key);
    this.#space();
    if (!this.#takes(":")) this.#mistake("expected :");
    return !this.#over;
  }

  #value(): void {
    this.#space();
    this.meter.count(1, 0);
    this.#over ||= this.meter.full;
    if (this.#over) return;
    if (this.#takes("{")) this.#begin("}");
    else if (this.#takes("[")) this.#begin("]");
    else if (this.#text[this.#at] === '"') this.#textValue();
    else this.#numberOrWord();
  }

  #numberOrWord(): void {
    const number = this.#token(numberToken);
    const problem = number === null ? null : numberProblem(number);
    if (problem !== null) this.#fault(problem);
    if (number === null && this.#token(wordToken) === null) this.#mistake("expected a value");
  }

  #begin(close: Open["close"]): void {
    const refusal = this.meter.deeper(this.#place.length);
    if (refusal === null) this.#open.push({ close, keys: new Set(), count: 0 });
    else {
      this.#fault(refusal);
      this.#over = true;
    }
  }

  #fault(message: string): void {
    this.meter.reasons.add(() => this.#place.reduce<string>(pointerTo, ""), message);
  }

  #textValue(): void {
    const text = this.#string();
    if (text !== null && !isWellFormed(text)) this.#fault(loneSurrogate);
  }

  /** Null after a mistake. */
  #string(): string | null {
    const start = this.#at;
    if (!this.#takes('"')) return this.#noString("expected a key in double quotes");
    let escaped = false;
    for (;;) {
      this.#at = endOfPlain(this.#text, this.#at);
      if (this.#takes('"')) break;
      if (this.#at >= this.#text.length) return this.#noString("the text ends inside a string");
      if (this.#text[this.#at] !== "\\") return this.#noString("a control character in a string must be escaped");
      if (this.#token(escapeToken) === null) return this.#noString("no such escape in a string");
      escaped = true;
    }
    if (!escaped) return this.#text.slice(start + 1, this.#at - 1);
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #noString(message: string): null {
    this.#mistake(message);
    return null;
  }

  #mistake(message: string): void {
    this.#over = true;
    const before = this.#text.slice(0, this.#at).split("\n");
    const column = (before.at(-1) as string).length + 1;
    this.#fault(`not JSON at line ${before.length}, column ${column}: ${message}`);
  }

  #space(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }

  #takes(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #token(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const [token] = pattern.exec(this.#text) ?? [];
    this.#at += token?.length ?? 0;
    return token ?? null;
  }
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

/** The first place that is a quote, a backslash, a control character or the end. */
function endOfPlain(text: string, start: number): number {
  let at = start;
  for (let unit = text.charCodeAt(at); unit >= 0x20 && unit !== 0x22 && unit !== 0x5c; unit = text.charCodeAt(at))
    at += 1;
  return at;
}
