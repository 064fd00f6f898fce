import type { Json } from "../values/json.ts";
import { pointerTo } from "./json-pointer.ts";
import { isPlainObject } from "./plain-object.ts";
import { ProblemList, type Reason } from "./problem-list.ts";
import { isWellFormed } from "./well-formed-text.ts";

/** The maximum size of one JSON value. Every limit is checked while reading, so nothing larger is ever built. */
export interface JsonLimits {
  /** The length of its text in UTF-8. */
  readonly bytes: number;
  /** The nesting depth of objects and arrays. */
  readonly depth: number;
  /** The number of values, including containers. */
  readonly nodes: number;
}

/** The maximum size of one input, one output or any other value that a tool returns. */
export const valueLimits: JsonLimits = { bytes: 8 * 1024 * 1024, depth: 64, nodes: 100_000 };

export type CheckedJson =
  | { readonly ok: true; readonly value: Json }
  | {
      readonly ok: false;
      readonly reasons: readonly Reason[];
      /** True if a limit is among the reasons. */
      readonly tooLarge: boolean;
      /** The part that was read, with null in place of refused values. Use it only to search for further problems. */
      readonly rest: Json;
    };

/** Returns a copy of a JavaScript value as JSON, or every reason why the store would not return it unchanged. */
export function checkJson(value: unknown, limits: JsonLimits): CheckedJson {
  return new JsonCopier(limits, false).copy(value);
}

/** The same for a computed value: undefined members and symbol keys are omitted, and -0 becomes 0. */
export function normalizeJson(value: unknown, limits: JsonLimits): CheckedJson {
  return new JsonCopier(limits, true).copy(value);
}

/**
 * Returns the reason why a key is not allowed below `parent`, or null. Merging an object with such a key could change
 * the prototype of every object.
 */
export function unsafeKeyProblem(key: string, parent: string | number | undefined): string | null {
  if (key === "__proto__") return `the key "__proto__" is not allowed; rename it`;
  if (key === "prototype" && parent === "constructor") {
    return `the key "prototype" below "constructor" is not allowed; rename one of them`;
  }
  return null;
}

export const loneSurrogate = "a lone surrogate is not text; send whole characters";
export const negativeZero = "-0 does not survive the store; use 0";

/** Counts values and bytes for every reader of JSON, from memory or from text. */
export class JsonMeter {
  /** True once a limit is exceeded; nothing further is read. */
  full = false;
  tooDeep = false;
  readonly #limits: JsonLimits;
  /** Created only when needed, because every input and output is read and few have a problem. */
  #reasons: ProblemList | null = null;
  #nodes = 0;
  #bytes = 0;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  get hasNoReasons(): boolean {
    return this.#reasons === null;
  }

  get reasons(): ProblemList {
    this.#reasons ??= new ProblemList();
    return this.#reasons;
  }

  /** Adds to the number of values and of bytes. */
  count(nodes: number, bytes: number): void {
    this.#nodes += nodes;
    this.#bytes += bytes;
    const isExceeded = this.#nodes > this.#limits.nodes || this.#bytes > this.#limits.bytes;
    if (this.full || !isExceeded) return;
    this.full = true;
    const most = this.#nodes > this.#limits.nodes ? `${this.#limits.nodes} values` : `${this.#limits.bytes} bytes`;
    this.reasons.add("", `more than ${most}; make it smaller or split it`);
  }

  /** Returns the reason why a container at this depth is too deep, or null. */
  depthProblem(depth: number): string | null {
    if (depth < this.#limits.depth) return null;
    this.tooDeep = true;
    return `more than ${this.#limits.depth} levels deep; make it flatter`;
  }
}

/** Returns the length of a well-formed text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair counts two of its four bytes; every other unit above U+07FF takes three.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

/** Text that JSON writes unescaped with one byte per character. Most texts match, and the test is much faster. */
const plainText = /^[ !#-[\]-~]*$/;

/** A container that is being read, with its current key and the container around it. */
interface OpenContainer {
  readonly value: object;
  readonly outer: OpenContainer | null;
  readonly depth: number;
  /** Null before the first member. */
  key: string | number | null;
}

function isOpen(innermost: OpenContainer | null, value: object): boolean {
  for (let outer = innermost; outer !== null; outer = outer.outer) if (outer.value === value) return true;
  return false;
}

class JsonCopier {
  readonly #meter: JsonMeter;
  readonly #normalizes: boolean;
  /** The innermost open container. The depth limit bounds the chain of containers around it. */
  #innermost: OpenContainer | null = null;

  constructor(limits: JsonLimits, normalizes: boolean) {
    this.#meter = new JsonMeter(limits);
    this.#normalizes = normalizes;
  }

  copy(value: unknown): CheckedJson {
    const copy = this.#read(value);
    if (this.#meter.hasNoReasons) return { ok: true, value: copy };
    const { reasons, full, tooDeep } = this.#meter;
    return { ok: false, reasons: reasons.list, tooLarge: full || tooDeep, rest: copy };
  }

  /** Reading a value may run foreign code, such as a getter, which may throw. */
  #read(value: unknown): Json {
    try {
      return this.#value(value);
    } catch {
      this.#addReason("it cannot be read: a getter or proxy throws; send plain data");
      return null;
    }
  }

  /** Reports a problem of the value that is being read. */
  #addReason(message: string): void {
    this.#meter.reasons.add(() => pointerOf(this.#innermost), message);
  }

  /** Returns a copy, with null in place of a refused value. */
  #value(value: unknown): Json {
    switch (typeof value) {
      case "string":
        this.#meter.count(1, this.#text(value));
        return value;
      case "number":
        return this.#number(value);
      case "boolean":
        this.#meter.count(1, 5);
        return value;
      case "object":
        return value === null ? this.#null() : this.#container(value);
      default:
        this.#addReason(`${typeof value} is not JSON; leave it out, or use a text, a number, a boolean or null`);
        return this.#null();
    }
  }

  #null(): null {
    this.#meter.count(1, 4);
    return null;
  }

  /** Checks a text and returns its length as JSON in bytes. */
  #text(value: string): number {
    if (plainText.test(value)) return value.length + 2;
    if (!isWellFormed(value)) this.#addReason(loneSurrogate);
    return utf8Length(JSON.stringify(value));
  }

  #number(value: number): number | null {
    this.#meter.count(1, String(value).length);
    if (!Number.isFinite(value)) {
      this.#addReason(`${value} is not a JSON number; use a finite number or null`);
      return null;
    }
    if (!Object.is(value, -0)) return value;
    if (!this.#normalizes) this.#addReason(negativeZero);
    return 0;
  }

  #container(value: object): Json {
    this.#meter.count(1, 2);
    if (isOpen(this.#innermost, value)) {
      this.#addReason("a value cannot contain itself; send the part that is meant");
      return null;
    }
    const outer = this.#innermost;
    const depth = outer === null ? 0 : outer.depth + 1;
    const refusal = this.#meter.depthProblem(depth);
    if (refusal !== null) {
      this.#addReason(refusal);
      return null;
    }
    this.#innermost = { value, outer, depth, key: null };
    const copy = Array.isArray(value) ? this.#array(value, this.#innermost) : this.#object(value, this.#innermost);
    this.#innermost = outer;
    return copy;
  }

  #array(value: readonly unknown[], here: OpenContainer): Json {
    const copy: Json[] = [];
    // By index and not by iterator: holes must be detected, and an iterator can run foreign code.
    for (let index = 0; index < value.length && !this.#meter.full; index += 1) {
      here.key = index;
      copy.push(Object.hasOwn(value, index) ? this.#value(value[index]) : this.#hole());
      this.#meter.count(0, 1);
    }
    return copy;
  }

  /** Counts a hole as a value, because an array can have billions of holes and take no memory. */
  #hole(): null {
    this.#addReason("an array has no holes in JSON; put null there");
    return this.#null();
  }

  #object(value: object, here: OpenContainer): Json {
    if (!isPlainObject(value)) {
      this.#addReason("only plain objects are JSON; turn dates, maps and class instances into plain data");
      return null;
    }
    if (!this.#normalizes && Object.getOwnPropertySymbols(value).length > 0) {
      this.#addReason("a symbol is not a JSON key; use a text");
    }
    const copy: Record<string, Json> = {};
    for (const key in value) {
      if (this.#meter.full) break;
      if (Object.hasOwn(value, key)) this.#member(copy, key, value[key], here);
    }
    return copy;
  }

  #member(copy: Record<string, Json>, key: string, value: unknown, here: OpenContainer): void {
    if (value === undefined && this.#normalizes) return;
    const problem = unsafeKeyProblem(key, here.outer?.key ?? undefined);
    here.key = key;
    if (problem !== null) this.#addReason(problem);
    else {
      this.#meter.count(0, this.#text(key) + 2);
      copy[key] = this.#value(value);
    }
  }
}

/** Returns the JSON pointer to the value that is being read. */
function pointerOf(innermost: OpenContainer | null): string {
  if (innermost === null) return "";
  const { outer, key } = innermost;
  return key === null ? pointerOf(outer) : pointerTo(pointerOf(outer), key);
}
