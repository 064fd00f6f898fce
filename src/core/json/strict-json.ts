import type { Json } from "../values/json.ts";
import {
  type CheckedJson,
  type JsonLimits,
  JsonMeter,
  loneSurrogate,
  unsafeKeyProblem,
  utf8Length,
} from "./check-json.ts";
import { jsonNumberProblem } from "./json-number-problem.ts";
import { pointerTo } from "./json-pointer.ts";
import { isWellFormed } from "./well-formed-text.ts";

/**
 * Parses JSON text and refuses content that two parsers could read differently: repeated keys, numbers that a double
 * cannot hold, lone surrogates, keys that reach prototypes. All problems are reported at once; reading stops at a
 * syntax error or a limit. Nesting uses no call stack.
 */
export function parseStrictJson(text: string, limits: JsonLimits): CheckedJson {
  const scanner = new JsonScanner(text, limits);
  scanner.scan();
  const { hasNoReasons, reasons, full, tooDeep } = scanner.meter;
  if (!hasNoReasons) return { ok: false, reasons: reasons.list, tooLarge: full || tooDeep, rest: null };
  // All rules were checked; for a text that passes them, the platform's parser gives the same result.
  return { ok: true, value: JSON.parse(text) as Json };
}

/** An object or array that is not closed yet. */
interface OpenContainer {
  readonly close: "}" | "]";
  readonly keys: Set<string>;
  /** The number of members that were started. */
  count: number;
}

const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const wordToken = /true|false|null/y;
const escapeToken = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

class JsonScanner {
  readonly meter: JsonMeter;
  /** The keys and indices that lead to the current value. */
  readonly #path: (string | number)[] = [];
  readonly #text: string;
  readonly #bytesMax: number;
  readonly #open: OpenContainer[] = [];
  #at = 0;
  #stopped = false;

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#bytesMax = limits.bytes;
    this.meter = new JsonMeter(limits);
  }

  scan(): void {
    // A text with more characters than bytes allowed is not measured.
    const tooLong = this.#text.length > this.#bytesMax;
    this.meter.count(0, tooLong ? this.#text.length : utf8Length(this.#text));
    this.#stopped = this.meter.full;
    if (!this.#stopped) this.#value();
    for (let open = this.#open.at(-1); open !== undefined && !this.#stopped; open = this.#open.at(-1))
      this.#member(open);
    this.#space();
    if (!this.#stopped && this.#at < this.#text.length) this.#syntaxError("nothing may follow the value");
  }

  /** Closes the container, or reads its next member. */
  #member(open: OpenContainer): void {
    this.#space();
    const path = this.#path;
    if (open.count > 0) path.pop();
    if (this.#takes(open.close)) {
      this.#open.pop();
      return;
    }
    if (open.count > 0 && !this.#takes(",")) {
      this.#syntaxError(`expected , or ${open.close}`);
      return;
    }
    path.push(open.count);
    open.count += 1;
    if (open.close === "]" || this.#key(open)) this.#value();
  }

  /** Reads a key and its colon; a problem of the key is reported at the path of the key. */
  #key({ keys }: OpenContainer): boolean {
    const path = this.#path;
    this.#space();
    const key = this.#string();
    if (key === null) return false;
    const problem = unsafeKeyProblem(key, path.at(-2));
    path[path.length - 1] = key;
    if (problem !== null) this.#addReason(problem);
    if (keys.has(key)) this.#addReason(`the key ${JSON.stringify(key)} is repeated; keep one`);
    if (!isWellFormed(key)) this.#addReason(loneSurrogate);
    keys.add(key);
    this.#space();
    if (!this.#takes(":")) this.#syntaxError("expected :");
    return !this.#stopped;
  }

  #value(): void {
    this.#space();
    this.meter.count(1, 0);
    this.#stopped ||= this.meter.full;
    if (this.#stopped) return;
    if (this.#takes("{")) this.#begin("}");
    else if (this.#takes("[")) this.#begin("]");
    else if (this.#text[this.#at] === '"') this.#textValue();
    else this.#numberOrWord();
  }

  #numberOrWord(): void {
    const number = this.#token(numberToken);
    const problem = number === null ? null : jsonNumberProblem(number);
    if (problem !== null) this.#addReason(problem);
    if (number === null && this.#token(wordToken) === null) this.#syntaxError("expected a value");
  }

  #begin(close: OpenContainer["close"]): void {
    const refusal = this.meter.depthProblem(this.#path.length);
    if (refusal === null) this.#open.push({ close, keys: new Set(), count: 0 });
    else {
      this.#addReason(refusal);
      this.#stopped = true;
    }
  }

  #addReason(message: string): void {
    this.meter.reasons.add(() => this.#path.reduce<string>(pointerTo, ""), message);
  }

  #textValue(): void {
    const text = this.#string();
    if (text !== null && !isWellFormed(text)) this.#addReason(loneSurrogate);
  }

  /** Null after a syntax error. */
  #string(): string | null {
    const start = this.#at;
    if (!this.#takes('"')) return this.#noString("expected a key in double quotes");
    let escaped = false;
    for (;;) {
      this.#at = endOfPlainText(this.#text, this.#at);
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
    this.#syntaxError(message);
    return null;
  }

  #syntaxError(message: string): void {
    this.#stopped = true;
    const before = this.#text.slice(0, this.#at).split("\n");
    const column = (before.at(-1) as string).length + 1;
    this.#addReason(`not JSON at line ${before.length}, column ${column}: ${message}`);
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

/** Returns the index of the next quote, backslash or control character, or of the end. */
function endOfPlainText(text: string, start: number): number {
  let at = start;
  for (let unit = text.charCodeAt(at); unit >= 0x20 && unit !== 0x22 && unit !== 0x5c; unit = text.charCodeAt(at))
    at += 1;
  return at;
}
