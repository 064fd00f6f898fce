import type { ASTNode } from "@marcbachmann/cel-js";
import type { Json } from "../core/json/json.ts";
import { call } from "./functions.ts";
import { Unanswerable } from "./meter.ts";
import { between } from "./operators.ts";
import { Pattern } from "./pattern.ts";
import { isRound, round } from "./rounds.ts";
import type { Asked, Part, Scope } from "./scope.ts";
import { field, kindOf, number, text, truth } from "./values.ts";

/** Makes something that can be asked of what was parsed. What is not listed here is not in the language. */
export function compile(node: ASTNode, scope: Scope): Part {
  const part = (inner: ASTNode): Part => compile(inner, scope);
  switch (node.op) {
    case "value":
      return literal(node.args);
    case "id":
      return scope.part(node.args);
    case ".": {
      const [whole, key] = node.args;
      return access(part(whole), () => key);
    }
    case "[]":
      return access(part(node.args[0]), part(node.args[1]));
    case "list": {
      const items = node.args.map(part);
      return (asked) => {
        asked.meter.burn(items.length);
        return items.map((item) => item(asked));
      };
    }
    case "?:":
      return choice(part(node.args[0]), part(node.args[1]), part(node.args[2]));
    case "!_":
      return negation(part(node.args));
    case "-_":
      return minus(part(node.args));
    case "call":
      return node.args[0] === "has" ? has(node.args[1], scope) : call(node.args[0], node.args[1].map(part));
    case "rcall":
      return method(node.args[0], node.args[1], node.args[2], scope);
    case "map":
      throw new Unanswerable("{…} is not in the language");
    default:
      return between(node.op, part((node.args as [ASTNode, ASTNode])[0]), part((node.args as [ASTNode, ASTNode])[1]));
  }
}

function literal(value: unknown): Part {
  const plain = typeof value === "bigint" ? Number(value) : value;
  const isExact = typeof value !== "bigint" || Number.isSafeInteger(plain);
  if (!isExact || !(plain === null || ["string", "number", "boolean"].includes(typeof plain)))
    throw new Unanswerable("it has a value that JSON cannot say; whole numbers end at 2^53");
  return () => plain as Json;
}

function access(whole: Part, key: Part): Part {
  return (asked) => {
    asked.meter.burn(1);
    const value = whole(asked);
    const name = key(asked);
    const found = field(value, name);
    if (found === undefined) throw new Unanswerable(`there is no ${JSON.stringify(name)} in ${kindOf(value)}`);
    return found;
  };
}

function choice(when: Part, then: Part, otherwise: Part): Part {
  return (asked) => {
    asked.meter.burn(1);
    return truth(when(asked), "what is before ?") ? then(asked) : otherwise(asked);
  };
}

function negation(part: Part): Part {
  return (asked) => {
    asked.meter.burn(1);
    return !truth(part(asked), "what is after !");
  };
}

function minus(part: Part): Part {
  return (asked) => {
    asked.meter.burn(1);
    return -number(part(asked), "what is after -");
  };
}

/** Whether a field is there. What it would be a field of has to be. */
function has(parts: readonly ASTNode[], scope: Scope): Part {
  const [node] = parts;
  if (node?.op !== "." || parts.length !== 1) throw new Unanswerable("has asks for a field, as in has(input.to)");
  const [inner, key] = node.args;
  const whole = compile(inner, scope);
  return (asked) => {
    asked.meter.burn(1);
    return field(whole(asked), key) !== undefined;
  };
}

function method(name: string, on: ASTNode, given: readonly ASTNode[], scope: Scope): Part {
  const whole = compile(on, scope);
  if (isRound(name)) return goingThrough(name, whole, given, scope);
  if (name === "matches") return matching(whole, given);
  return call(name, [whole, ...given.map((node) => compile(node, scope))]);
}

function goingThrough(name: string, over: Part, given: readonly ASTNode[], scope: Scope): Part {
  const [item, each] = given;
  if (item?.op !== "id" || each === undefined || given.length !== 2)
    throw new Unanswerable(`${name} is given a name and what is asked of it, as in list.${name}(x, x > 0)`);
  return round(name, over, compile(each, scope.within(item.args)), scope.depth);
}

/** The pattern is read with the expression: one that comes from the data could be made to take long. */
function matching(whole: Part, given: readonly ASTNode[]): Part {
  const [node] = given;
  if (node?.op !== "value" || typeof node.args !== "string" || given.length !== 1)
    throw new Unanswerable("matches is given a pattern as it is, in quotes");
  const pattern = new Pattern(node.args);
  return (asked: Asked) => pattern.test(text(whole(asked), "what is matched"), asked.meter);
}
