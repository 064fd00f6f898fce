import type { Json } from "./json.ts";
import { isPlainObject } from "./plain-object.ts";
import { pointerTo } from "./pointer.ts";
import { type Reason, Reasons } from "./reasons.ts";
import { isWellFormed } from "./well-formed.ts";

/** How much JSON one value may be. Every limit is judged while reading, so nothing larger is ever built. */
export interface JsonLimits {
  /** Of its text in UTF-8. */
  readonly bytes: number;
  /** Of objects and arrays within each other. */
  readonly depth: number;
  /** Of values, the containers counted too. */
  readonly nodes: number;
}

/** How large one input, one output, or whatever else a tool says may be. */
export const valueLimits: JsonLimits = { bytes: 8 * 1024 * 1024, depth: 64, nodes: 100_000 };

export type CheckedJson =
  | { readonly ok: true; readonly value: Json }
  | {
      readonly ok: false;
      readonly reasons: readonly Reason[];
      /** Whether a limit is among the reasons. */
      readonly tooLarge: boolean;
      /** What was read of it, with null for what was refused: for whoever wants to find more that is wrong, and nobody else. */
      readonly rest: Json;
    };

/** Reads a value of the host language as JSON: a copy, or every reason why it would not survive the store unchanged. */
export function checkJson(value: unknown, limits: JsonLimits): CheckedJson {
  return new Copy(limits, false).of(value);
}

/** The same for what a program computed: members that are undefined are left out, symbol keys too, and -0 becomes 0. */
export function tidyJson(value: unknown, limits: JsonLimits): CheckedJson {
  return new Copy(limits, true).of(value);
}

/** Why a key must not be used in an object below `parent`, or null. Merging such a key elsewhere could change every object. */
export function hazard(key: string, parent: string | number | undefined): string | null {
  if (key === "__proto__") return `the key "__proto__" is not allowed; rename it`;
  if (key === "prototype" && parent === "constructor") {
    return `the key "prototype" below "constructor" is not allowed; rename one of them`;
  }
  return null;
}

export const loneSurrogate = "a lone surrogate is not text; send whole characters";
export const negativeZero = "-0 does not survive the store; use 0";

/** What every reader of JSON counts, in memory or in text. */
export class Meter {
  /** Nothing further is read. */
  full = false;
  tooDeep = false;
  readonly #limits: JsonLimits;
  /** Hardly ever made: every input and every answer is read. */
  #reasons: Reasons | null = null;
  #nodes = 0;
  #bytes = 0;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** Nothing was wrong. */
  get none(): boolean {
    return this.#reasons === null;
  }

  get reasons(): Reasons {
    this.#reasons ??= new Reasons();
    return this.#reasons;
  }

  /** Counts one value of so many bytes, its commas and colons left aside. */
  count(nodes: number, bytes: number): void {
    this.#nodes += nodes;
    this.#bytes += bytes;
    const over = this.#nodes > this.#limits.nodes || this.#bytes > this.#limits.bytes;
    if (this.full || !over) return;
    this.full = true;
    const most = this.#nodes > this.#limits.nodes ? `${this.#limits.nodes} values` : `${this.#limits.bytes} bytes`;
    this.reasons.add("", `more than ${most}; make it smaller or split it`);
  }

  /** Why one more container does not fit into so many around it; null: it does. */
  deeper(around: number): string | null {
    if (around < this.#limits.depth) return null;
    this.tooDeep = true;
    return `more than ${this.#limits.depth} levels deep; make it flatter`;
  }
}

/** How many bytes a well-formed text takes in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    // Half of a pair counts two of the four bytes; everything else above U+07FF takes three.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

/** Text that JSON writes as it is, one byte for each character: nearly all there is, and judged many times faster. */
const plainText = /^[ !#-[\]-~]*$/;

/** A container that is being read, where in it, and what is around it. */
interface Around {
  readonly value: object;
  readonly outer: Around | null;
  readonly depth: number;
  /** Null: at none of its members. */
  key: string | number | null;
}

function isAround(around: Around | null, value: object): boolean {
  for (let outer = around; outer !== null; outer = outer.outer) if (outer.value === value) return true;
  return false;
}

class Copy {
  readonly #meter: Meter;
  readonly #tidy: boolean;
  /** The container around this place, and those around it; never more than may lie within each other. */
  #around: Around | null = null;

  constructor(limits: JsonLimits, tidy: boolean) {
    this.#meter = new Meter(limits);
    this.#tidy = tidy;
  }

  of(value: unknown): CheckedJson {
    const copy = this.#read(value);
    if (this.#meter.none) return { ok: true, value: copy };
    const { reasons, full, tooDeep } = this.#meter;
    return { ok: false, reasons: reasons.list, tooLarge: full || tooDeep, rest: copy };
  }

  /** Looking at a value may run code of whoever made it. */
  #read(value: unknown): Json {
    try {
      return this.#value(value);
    } catch {
      this.#fault("it cannot be read: looking at it throws; send plain data");
      return null;
    }
  }

  /** About what is being read in the container around it. */
  #fault(message: string): void {
    this.#meter.reasons.add(() => pathOf(this.#around), message);
  }

  /** Null stands in for what was refused. */
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
        this.#fault(`${typeof value} is not JSON; leave it out, or use a text, a number, a boolean or null`);
        return this.#null();
    }
  }

  #null(): null {
    this.#meter.count(1, 4);
    return null;
  }

  /** Its length in bytes. */
  #text(value: string): number {
    if (plainText.test(value)) return value.length + 2;
    if (!isWellFormed(value)) this.#fault(loneSurrogate);
    return utf8Length(JSON.stringify(value));
  }

  #number(value: number): number | null {
    this.#meter.count(1, String(value).length);
    if (!Number.isFinite(value)) {
      this.#fault(`${value} is not a JSON number; use a finite number or null`);
      return null;
    }
    if (!Object.is(value, -0)) return value;
    if (!this.#tidy) this.#fault(negativeZero);
    return 0;
  }

  #container(value: object): Json {
    this.#meter.count(1, 2);
    if (isAround(this.#around, value)) {
      this.#fault("a value cannot contain itself; send the part that is meant");
      return null;
    }
    const outer = this.#around;
    const depth = outer === null ? 0 : outer.depth + 1;
    const refusal = this.#meter.deeper(depth);
    if (refusal !== null) {
      this.#fault(refusal);
      return null;
    }
    this.#around = { value, outer, depth, key: null };
    const copy = Array.isArray(value) ? this.#array(value, this.#around) : this.#object(value, this.#around);
    this.#around = outer;
    return copy;
  }

  #array(value: readonly unknown[], here: Around): Json {
    const copy: Json[] = [];
    // By index and not by iterator: a hole must be seen, and an iterator can be anyone's code.
    for (let index = 0; index < value.length && !this.#meter.full; index += 1) {
      here.key = index;
      copy.push(Object.hasOwn(value, index) ? this.#value(value[index]) : this.#hole());
      this.#meter.count(0, 1);
    }
    return copy;
  }

  /** It counts as a value: an array of nothing but holes takes no room, and could have billions. */
  #hole(): null {
    this.#fault("an array has no holes in JSON; put null there");
    return this.#null();
  }

  #object(value: object, here: Around): Json {
    if (!isPlainObject(value)) {
      this.#fault("only plain objects are JSON; turn dates, maps and class instances into plain data");
      return null;
    }
    if (!this.#tidy && Object.getOwnPropertySymbols(value).length > 0) {
      this.#fault("a symbol is not a JSON key; use a text");
    }
    const copy: Record<string, Json> = {};
    for (const key in value) {
      if (this.#meter.full) break;
      if (Object.hasOwn(value, key)) this.#member(copy, key, value[key], here);
    }
    return copy;
  }

  #member(copy: Record<string, Json>, key: string, value: unknown, here: Around): void {
    if (value === undefined && this.#tidy) return;
    const danger = hazard(key, here.outer?.key ?? undefined);
    here.key = key;
    if (danger !== null) this.#fault(danger);
    else {
      this.#meter.count(0, this.#text(key) + 2);
      copy[key] = this.#value(value);
    }
  }
}

/** Where the reader is: the keys of what is around it, from the outside in. */
function pathOf(around: Around | null): string {
  if (around === null) return "";
  const { outer, key } = around;
  return key === null ? pathOf(outer) : pointerTo(pathOf(outer), key);
}
