import { ANY_CHARACTER, type CharacterSet, escapedCharacters, namedSets, singleCharacter } from "./character-set.ts";
import { EvaluationError } from "./fuel-meter.ts";

/** The syntax tree of a pattern. */
export type RegexNode =
  | { readonly is: "one"; readonly of: CharacterSet }
  | { readonly is: "start" }
  | { readonly is: "end" }
  | { readonly is: "sequence"; readonly parts: readonly RegexNode[] }
  | { readonly is: "choice"; readonly parts: readonly RegexNode[] }
  | { readonly is: "repeat"; readonly part: RegexNode; readonly min: number; readonly max: number };

const SIGN = /[^\p{L}\p{N}]/u;

/** The maximum nesting of groups: the parser is recursive. */
const DEPTH_MAX = 50;

/**
 * Parses characters, sets, groups, choices, repetitions and anchors. Backreferences and lookaround are not supported.
 */
export class RegexParser {
  readonly #points: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#points = [...source];
  }

  parse(): RegexNode {
    const tree = this.#choice();
    if (this.#at < this.#points.length) throw new EvaluationError("its pattern has an unmatched )");
    return tree;
  }

  get #next(): string | undefined {
    return this.#points[this.#at];
  }

  #take(): string {
    const point = this.#next;
    if (point === undefined) throw new EvaluationError("its pattern is incomplete");
    this.#at += 1;
    return point;
  }

  #accept(text: string): boolean {
    if (this.#next !== text) return false;
    this.#at += 1;
    return true;
  }

  #choice(): RegexNode {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new EvaluationError(`its pattern has groups nested deeper than ${DEPTH_MAX}`);
    const parts = [this.#sequence()];
    while (this.#accept("|")) parts.push(this.#sequence());
    this.#depth -= 1;
    return { is: "choice", parts };
  }

  #sequence(): RegexNode {
    const parts: RegexNode[] = [];
    while (this.#next !== undefined && this.#next !== "|" && this.#next !== ")") parts.push(this.#repetition());
    return { is: "sequence", parts };
  }

  #repetition(): RegexNode {
    const part = this.#atom();
    const quantifier = this.#quantifier();
    if (quantifier === null) return part;
    this.#accept("?"); // Greedy and lazy repetitions match the same texts.
    if (this.#quantifier() !== null) throw new EvaluationError("its pattern repeats a repetition; put it in a group");
    return { is: "repeat", part, ...quantifier };
  }

  #quantifier(): { readonly min: number; readonly max: number } | null {
    if (this.#accept("*")) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#accept("+")) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#accept("?")) return { min: 0, max: 1 };
    if (!this.#accept("{")) return null;
    const min = this.#number();
    const max = this.#accept(",") ? (this.#next === "}" ? Number.POSITIVE_INFINITY : this.#number()) : min;
    if (!this.#accept("}") || min > max)
      throw new EvaluationError("its pattern has a { that is no repetition; write \\{");
    return { min, max };
  }

  #number(): number {
    let text = "";
    while (this.#next !== undefined && /^\d$/.test(this.#next)) text += this.#take();
    if (text === "" || text.length > 4)
      throw new EvaluationError("its pattern has a { that is no repetition; write \\{");
    return Number(text);
  }

  #atom(): RegexNode {
    const point = this.#take();
    switch (point) {
      case "^":
        return { is: "start" };
      case "$":
        return { is: "end" };
      case ".":
        return { is: "one", of: ANY_CHARACTER };
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
        throw new EvaluationError(`its pattern repeats nothing at ${point}`);
      default:
        return { is: "one", of: singleCharacter(point.codePointAt(0) as number) };
    }
  }

  #group(): RegexNode {
    if (this.#accept("?") && !this.#accept(":"))
      throw new EvaluationError("its pattern has a (? group; only (?: is supported");
    const inside = this.#choice();
    if (!this.#accept(")")) throw new EvaluationError("its pattern has an unmatched (");
    return inside;
  }

  #escape(): CharacterSet {
    const point = this.#take();
    const set = Object.hasOwn(namedSets, point) ? namedSets[point] : undefined;
    if (set !== undefined) return set;
    const character = Object.hasOwn(escapedCharacters, point)
      ? escapedCharacters[point]
      : SIGN.test(point)
        ? point
        : undefined;
    if (character === undefined) throw new EvaluationError(`its pattern has \\${point}, which is not supported`);
    return singleCharacter(character.codePointAt(0) as number);
  }

  #set(): CharacterSet {
    const outside = this.#accept("^");
    const ranges: (readonly [number, number])[] = [];
    do ranges.push(...this.#member());
    while (!this.#accept("]"));
    return { ranges, outside };
  }

  #member(): readonly (readonly [number, number])[] {
    const { ranges, outside } = this.#setPoint();
    if (outside) throw new EvaluationError("its pattern has a negated set within a set");
    if (this.#next !== "-" || this.#points[this.#at + 1] === "]") return ranges;
    this.#take();
    const [first, last] = [singleCodePoint(ranges), singleCodePoint(this.#setPoint().ranges)];
    if (last < first) throw new EvaluationError("its pattern has a range whose end is before its start");
    return [[first, last]];
  }

  #setPoint(): CharacterSet {
    const point = this.#take();
    return point === "\\" ? this.#escape() : singleCharacter(point.codePointAt(0) as number);
  }
}

/** Returns the single character at the start or end of a range. */
function singleCodePoint(ranges: CharacterSet["ranges"]): number {
  const [only, more] = ranges;
  if (only === undefined || more !== undefined || only[0] !== only[1])
    throw new EvaluationError("its pattern has a set within a range");
  return only[0];
}
