import type { ASTNode } from "@marcbachmann/cel-js";
import type { Json } from "../core/values/json.ts";
import { compileCall } from "./compile-call.ts";
import { compileOperator } from "./compile-operator.ts";
import { EvaluationError } from "./fuel-meter.ts";
import { LinearRegex } from "./linear-regex.ts";
import { compileListMacro, isListMacro } from "./list-macros.ts";
import type { EvaluationContext, Evaluator, Scope } from "./scope.ts";
import { expectBoolean, expectNumber, expectText, kindName, readField } from "./values.ts";

/** Compiles a parsed expression. A construct that is not listed here is not in the language. */
export function compileExpression(node: ASTNode, scope: Scope): Evaluator {
  const part = (inner: ASTNode): Evaluator => compileExpression(inner, scope);
  switch (node.op) {
    case "value":
      return compileLiteral(node.args);
    case "id":
      return scope.compileName(node.args);
    case ".": {
      const [whole, key] = node.args;
      checkField(whole, key, scope);
      return compileAccess(part(whole), () => key);
    }
    case "[]":
      if (node.args[1].op === "value") checkField(node.args[0], node.args[1].args, scope);
      return compileAccess(part(node.args[0]), part(node.args[1]));
    case "list": {
      const items = node.args.map(part);
      return (context) => {
        context.meter.spend(items.length);
        return items.map((item) => item(context));
      };
    }
    case "?:":
      return compileConditional(part(node.args[0]), part(node.args[1]), part(node.args[2]));
    case "!_":
      return compileNot(part(node.args));
    case "-_":
      return compileMinus(part(node.args));
    case "call":
      return node.args[0] === "has"
        ? compileHas(node.args[1], scope)
        : compileCall(node.args[0], node.args[1].map(part));
    case "rcall":
      return compileMethod(node.args[0], node.args[1], node.args[2], scope);
    case "map":
      throw new EvaluationError("{…} is not in the language");
    default:
      return compileOperator(
        node.op,
        part((node.args as [ASTNode, ASTNode])[0]),
        part((node.args as [ASTNode, ASTNode])[1]),
      );
  }
}

/** Throws if a field is read from a variable that cannot have it. An item of a list macro has another name. */
function checkField(whole: ASTNode, key: unknown, scope: Scope): void {
  if (whole.op === "id" && typeof key === "string") scope.assertField(whole.args, key);
}

function compileLiteral(value: unknown): Evaluator {
  const plain = typeof value === "bigint" ? Number(value) : value;
  const isExact = typeof value !== "bigint" || Number.isSafeInteger(plain);
  if (!isExact || !(plain === null || ["string", "number", "boolean"].includes(typeof plain)))
    throw new EvaluationError("it has a literal that JSON cannot represent; whole numbers end at 2^53");
  return () => plain as Json;
}

function compileAccess(whole: Evaluator, key: Evaluator): Evaluator {
  return (context) => {
    context.meter.spend(1);
    const value = whole(context);
    const name = key(context);
    const found = readField(value, name);
    if (found === undefined) throw new EvaluationError(`there is no ${JSON.stringify(name)} in ${kindName(value)}`);
    return found;
  };
}

function compileConditional(when: Evaluator, then: Evaluator, otherwise: Evaluator): Evaluator {
  return (context) => {
    context.meter.spend(1);
    return expectBoolean(when(context), "the condition of ?") ? then(context) : otherwise(context);
  };
}

function compileNot(part: Evaluator): Evaluator {
  return (context) => {
    context.meter.spend(1);
    return !expectBoolean(part(context), "the operand of !");
  };
}

function compileMinus(part: Evaluator): Evaluator {
  return (context) => {
    context.meter.spend(1);
    return -expectNumber(part(context), "the operand of -");
  };
}

/** Tests whether a field is present. The value before the dot must exist. */
function compileHas(parts: readonly ASTNode[], scope: Scope): Evaluator {
  const [node] = parts;
  if (node?.op !== "." || parts.length !== 1) throw new EvaluationError("has needs a field, as in has(input.to)");
  const [inner, key] = node.args;
  checkField(inner, key, scope);
  const whole = compileExpression(inner, scope);
  return (context) => {
    context.meter.spend(1);
    return readField(whole(context), key) !== undefined;
  };
}

function compileMethod(name: string, on: ASTNode, args: readonly ASTNode[], scope: Scope): Evaluator {
  const whole = compileExpression(on, scope);
  if (isListMacro(name)) return compileMacroCall(name, whole, args, scope);
  if (name === "matches") return compileMatches(whole, args);
  return compileCall(name, [whole, ...args.map((node) => compileExpression(node, scope))]);
}

function compileMacroCall(name: string, list: Evaluator, args: readonly ASTNode[], scope: Scope): Evaluator {
  const [item, each] = args;
  if (item?.op !== "id" || each === undefined || args.length !== 2)
    throw new EvaluationError(`${name} needs a name and an expression, as in list.${name}(x, x > 0)`);
  return compileListMacro(name, list, compileExpression(each, scope.withItem(item.args)), scope.depth);
}

/** The pattern is a literal, so that data cannot supply a pattern that takes long. */
function compileMatches(whole: Evaluator, args: readonly ASTNode[]): Evaluator {
  const [node] = args;
  if (node?.op !== "value" || typeof node.args !== "string" || args.length !== 1)
    throw new EvaluationError("matches needs a literal pattern in quotes");
  const pattern = new LinearRegex(node.args);
  return (context: EvaluationContext) =>
    pattern.test(expectText(whole(context), "the value before matches"), context.meter);
}
