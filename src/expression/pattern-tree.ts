import { ANY, type Characters, escaped, just, named } from "./characters.ts";
import { Unanswerable } from "./meter.ts";

/** A pattern as it is written. */
export type PatternNode =
  | { readonly is: "one"; readonly of: Characters }
  | { readonly is: "start" }
  | { readonly is: "end" }
  | { readonly is: "sequence"; readonly parts: readonly PatternNode[] }
  | { readonly is: "choice"; readonly parts: readonly PatternNode[] }
  | { readonly is: "repeat"; readonly part: PatternNode; readonly min: number; readonly max: number };

const SIGN = /[^\p{L}\p{N}]/u;

/** Groups within groups beyond this are not read: reading follows them. */
const DEPTH_MAX = 50;

/** Reads a pattern: characters, sets, groups, choices, repetitions and anchors. What looks back or ahead is not in it. */
export class PatternReader {
  readonly #points: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#points = [...source];
  }

  read(): PatternNode {
    const tree = this.#choice();
    if (this.#at < this.#points.length) throw new Unanswerable("its pattern has a ) too many");
    return tree;
  }

  get #next(): string | undefined {
    return this.#points[this.#at];
  }

  #take(): string {
    const point = this.#next;
    if (point === undefined) throw new Unanswerable("its pattern ends in the middle");
    this.#at += 1;
    return point;
  }

  #takes(text: string): boolean {
    if (this.#next !== text) return false;
    this.#at += 1;
    return true;
  }

  #choice(): PatternNode {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new Unanswerable(`its pattern has groups in more than ${DEPTH_MAX} others`);
    const parts = [this.#sequence()];
    while (this.#takes("|")) parts.push(this.#sequence());
    this.#depth -= 1;
    return { is: "choice", parts };
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (this.#next !== undefined && this.#next !== "|" && this.#next !== ")") parts.push(this.#repeated());
    return { is: "sequence", parts };
  }

  #repeated(): PatternNode {
    const part = this.#one();
    const times = this.#times();
    if (times === null) return part;
    this.#takes("?"); // Whether it takes much or little does not change whether it matches.
    if (this.#times() !== null) throw new Unanswerable("its pattern repeats a repetition; put it in a group");
    return { is: "repeat", part, ...times };
  }

  #times(): { readonly min: number; readonly max: number } | null {
    if (this.#takes("*")) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#takes("+")) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#takes("?")) return { min: 0, max: 1 };
    if (!this.#takes("{")) return null;
    const min = this.#number();
    const max = this.#takes(",") ? (this.#next === "}" ? Number.POSITIVE_INFINITY : this.#number()) : min;
    if (!this.#takes("}") || min > max) throw new Unanswerable("its pattern has a { that is no repetition; write \\{");
    return { min, max };
  }

  #number(): number {
    let text = "";
    while (this.#next !== undefined && /^\d$/.test(this.#next)) text += this.#take();
    if (text === "" || text.length > 4) throw new Unanswerable("its pattern has a { that is no repetition; write \\{");
    return Number(text);
  }

  #one(): PatternNode {
    const point = this.#take();
    switch (point) {
      case "^":
        return { is: "start" };
      case "$":
        return { is: "end" };
      case ".":
        return { is: "one", of: ANY };
      case "(":
        return this.#group();
      case "[":
        return { is: "one", of: this.#set() };
      case "\\":
        return { is: "one", of: this.#escape() };
      case "*":
      case "+":
      case "?":
      case "{":
        throw new Unanswerable(`its pattern repeats nothing at ${point}`);
      default:
        return { is: "one", of: just(point.codePointAt(0) as number) };
    }
  }

  #group(): PatternNode {
    if (this.#takes("?") && !this.#takes(":"))
      throw new Unanswerable("its pattern has a (? that looks around or names; only (?: is read");
    const inside = this.#choice();
    if (!this.#takes(")")) throw new Unanswerable("its pattern has a ( that is never closed");
    return inside;
  }

  #escape(): Characters {
    const point = this.#take();
    const set = Object.hasOwn(named, point) ? named[point] : undefined;
    if (set !== undefined) return set;
    const meant = Object.hasOwn(escaped, point) ? escaped[point] : SIGN.test(point) ? point : undefined;
    if (meant === undefined) throw new Unanswerable(`its pattern has \\${point}, which means nothing here`);
    return just(meant.codePointAt(0) as number);
  }

  #set(): Characters {
    const outside = this.#takes("^");
    const ranges: (readonly [number, number])[] = [];
    do ranges.push(...this.#member());
    while (!this.#takes("]"));
    return { ranges, outside };
  }

  #member(): readonly (readonly [number, number])[] {
    const { ranges, outside } = this.#setPoint();
    if (outside) throw new Unanswerable("its pattern has a set within a set that leaves something out");
    if (this.#next !== "-" || this.#points[this.#at + 1] === "]") return ranges;
    this.#take();
    const [first, last] = [single(ranges), single(this.#setPoint().ranges)];
    if (last < first) throw new Unanswerable("its pattern has a range that ends before it begins");
    return [[first, last]];
  }

  #setPoint(): Characters {
    const point = this.#take();
    return point === "\\" ? this.#escape() : just(point.codePointAt(0) as number);
  }
}

/** The one character that a range begins or ends with. */
function single(ranges: Characters["ranges"]): number {
  const [only, more] = ranges;
  if (only === undefined || more !== undefined || only[0] !== only[1])
    throw new Unanswerable("its pattern has a set within a range");
  return only[0];
}
