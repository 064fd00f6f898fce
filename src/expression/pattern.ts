import { expressionLimits } from "../core/expression.ts";
import { type Characters, isIn } from "./characters.ts";
import { type Meter, Unanswerable } from "./meter.ts";
import { type PatternNode, PatternReader } from "./pattern-tree.ts";

type Instruction =
  | { readonly do: "take"; readonly of: Characters }
  | { readonly do: "split"; readonly to: readonly number[] }
  | { readonly do: "start" }
  | { readonly do: "end" }
  | { readonly do: "match" };

/**
 * A regular expression that goes through a text once, at all places of the pattern at the same time (Thompson). It cannot look
 * back, so no text makes it try again, and its time grows with the length of the text alone.
 */
export class Pattern {
  readonly #program: Instruction[] = [];

  constructor(source: string) {
    this.#compile(new PatternReader(source).read());
    this.#add({ do: "match" });
  }

  /** Whether some part of the text matches. */
  test(text: string, meter: Meter): boolean {
    meter.burnFor(text.length);
    const front = new Front(this.#program, meter);
    let at = 0;
    for (const point of text) {
      if (front.reach(0, at === 0, false)) return true;
      at += point.length;
      if (front.take(point.codePointAt(0) as number, at === text.length)) return true;
    }
    return front.reach(0, at === 0, true);
  }

  #add(instruction: Instruction): number {
    if (this.#program.length >= expressionLimits.pattern)
      throw new Unanswerable(`its pattern becomes more than ${expressionLimits.pattern} instructions`);
    return this.#program.push(instruction) - 1;
  }

  #compile(node: PatternNode): void {
    switch (node.is) {
      case "one":
        this.#add({ do: "take", of: node.of });
        return;
      case "start":
      case "end":
        this.#add({ do: node.is });
        return;
      case "sequence":
        for (const part of node.parts) this.#compile(part);
        return;
      case "choice":
        this.#compileChoice(node.parts);
        return;
      case "repeat":
        this.#compileRepeat(node);
    }
  }

  #compileChoice(parts: readonly PatternNode[]): void {
    if (parts.length === 1) {
      this.#compile(parts[0] as PatternNode);
      return;
    }
    const to: number[] = [];
    this.#add({ do: "split", to });
    const exits = parts.map((part) => {
      to.push(this.#program.length);
      this.#compile(part);
      const exit: number[] = [];
      this.#add({ do: "split", to: exit });
      return exit;
    });
    for (const exit of exits) exit.push(this.#program.length);
  }

  #compileRepeat({ part, min, max }: Extract<PatternNode, { is: "repeat" }>): void {
    for (let times = 0; times < min; times += 1) {
      const before = this.#program.length;
      this.#compile(part);
      if (this.#program.length === before) return; // Nothing, however often.
    }
    if (max === Number.POSITIVE_INFINITY) {
      const to: number[] = [];
      const loop = this.#add({ do: "split", to });
      to.push(this.#program.length);
      this.#compile(part);
      this.#add({ do: "split", to: [loop] });
      to.push(this.#program.length);
      return;
    }
    const skips: number[][] = [];
    for (let times = min; times < max; times += 1) {
      const to: number[] = [];
      skips.push(to);
      this.#add({ do: "split", to });
      to.push(this.#program.length);
      this.#compile(part);
    }
    for (const to of skips) to.push(this.#program.length);
  }
}

/** All the places of a pattern that are reached at one place of a text. */
class Front {
  readonly #program: readonly Instruction[];
  readonly #meter: Meter;
  /** When a place was last reached. Asking a set instead takes ten times as long. */
  readonly #seen: Uint32Array;
  #round = 1;
  #places: number[] = [];
  #open: number[] = [];

  constructor(program: readonly Instruction[], meter: Meter) {
    this.#program = program;
    this.#meter = meter;
    this.#seen = new Uint32Array(program.length);
  }

  /** Adds a place and all that follow from it without taking a character. True: the pattern has matched. */
  reach(from: number, first: boolean, last: boolean): boolean {
    const open = this.#open;
    open.push(from);
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      if (this.#seen[place] === this.#round) continue;
      this.#meter.burn(1);
      this.#seen[place] = this.#round;
      const instruction = this.#program[place] as Instruction;
      if (instruction.do === "match") return true;
      if (instruction.do === "take") this.#places.push(place);
      else if (instruction.do === "split") for (const to of instruction.to) open.push(to);
      else if (instruction.do === "start" ? first : last) open.push(place + 1);
    }
    return false;
  }

  /** Goes on with those that a character lets through. */
  take(point: number, last: boolean): boolean {
    const before = this.#places;
    this.#places = [];
    this.#round += 1;
    for (const place of before) {
      const instruction = this.#program[place] as Instruction;
      if (instruction.do === "take" && isIn(instruction.of, point) && this.reach(place + 1, false, last)) return true;
    }
    return false;
  }
}
