import { expressionLimits } from "../core/ports/expression.ts";
import { type CharacterSet, isInSet } from "./character-set.ts";
import { EvaluationError, type FuelMeter } from "./fuel-meter.ts";
import { type RegexNode, RegexParser } from "./regex-parser.ts";

type Instruction =
  | { readonly do: "take"; readonly of: CharacterSet }
  | { readonly do: "split"; readonly to: readonly number[] }
  | { readonly do: "start" }
  | { readonly do: "end" }
  | { readonly do: "match" };

/**
 * A regular expression that reads a text once and follows all states of the pattern at the same time (Thompson). It
 * never backtracks, so for a given pattern its time is linear in the length of the text.
 */
export class LinearRegex {
  readonly #program: Instruction[] = [];

  constructor(source: string) {
    this.#compile(new RegexParser(source).parse());
    this.#add({ do: "match" });
  }

  /** Returns whether some part of the text matches. */
  test(text: string, meter: FuelMeter): boolean {
    meter.spendForText(text.length);
    const states = new ActiveStates(this.#program, meter);
    let at = 0;
    for (const point of text) {
      if (states.add(0, at === 0, false)) return true;
      at += point.length;
      if (states.advance(point.codePointAt(0) as number, at === text.length)) return true;
    }
    return states.add(0, at === 0, true);
  }

  #add(instruction: Instruction): number {
    if (this.#program.length >= expressionLimits.pattern)
      throw new EvaluationError(`its pattern compiles to more than ${expressionLimits.pattern} instructions`);
    return this.#program.push(instruction) - 1;
  }

  #compile(node: RegexNode): void {
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

  #compileChoice(parts: readonly RegexNode[]): void {
    if (parts.length === 1) {
      this.#compile(parts[0] as RegexNode);
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

  #compileRepeat({ part, min, max }: Extract<RegexNode, { is: "repeat" }>): void {
    for (let times = 0; times < min; times += 1) {
      const before = this.#program.length;
      this.#compile(part);
      if (this.#program.length === before) return; // The part is empty, and so is its repetition.
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

/** The states of a pattern that are active at one position of a text. */
class ActiveStates {
  readonly #program: readonly Instruction[];
  readonly #meter: FuelMeter;
  /** The generation in which each state was last added. A Set takes ten times as long. */
  readonly #addedAt: Uint32Array;
  #generation = 1;
  #states: number[] = [];
  #pending: number[] = [];

  constructor(program: readonly Instruction[], meter: FuelMeter) {
    this.#program = program;
    this.#meter = meter;
    this.#addedAt = new Uint32Array(program.length);
  }

  /** Adds a state and all states it reaches without a character. Returns true if the pattern has matched. */
  add(from: number, first: boolean, last: boolean): boolean {
    const pending = this.#pending;
    pending.push(from);
    for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
      if (this.#addedAt[state] === this.#generation) continue;
      this.#meter.spend(1);
      this.#addedAt[state] = this.#generation;
      const instruction = this.#program[state] as Instruction;
      if (instruction.do === "match") return true;
      if (instruction.do === "take") this.#states.push(state);
      else if (instruction.do === "split") for (const to of instruction.to) pending.push(to);
      else if (instruction.do === "start" ? first : last) pending.push(state + 1);
    }
    return false;
  }

  /** Keeps the states that accept the character and adds their successors. Returns true if the pattern has matched. */
  advance(point: number, last: boolean): boolean {
    const before = this.#states;
    this.#states = [];
    this.#generation += 1;
    for (const state of before) {
      const instruction = this.#program[state] as Instruction;
      if (instruction.do === "take" && isInSet(instruction.of, point) && this.add(state + 1, false, last)) return true;
    }
    return false;
  }
}
