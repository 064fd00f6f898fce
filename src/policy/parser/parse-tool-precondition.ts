import type { ToolCondition } from "../../core/call/guard.ts";
import type { ExpressionLanguage } from "../../core/ports/expression.ts";
import type { Precondition } from "../../core/tool/tool.ts";
import { ruleFields, ruleVariables } from "../rules/rule-input.ts";
import { stateVariables } from "./parse-state-pointers.ts";
import { parseStateReads } from "./parse-state-reads.ts";

/** Parses a precondition of a tool, or returns why it is invalid. */
export function parseToolPrecondition(
  { id, expression: source, state }: Precondition,
  language: ExpressionLanguage,
): ToolCondition | { readonly wrong: string } {
  const pointers = state === undefined ? null : parseStateReads(state, language);
  if (pointers !== null && "wrong" in pointers) return { wrong: `${id} declares state wrongly: ${pointers.wrong}` };
  const expression = language.read(source, pointers === null ? ruleVariables : stateVariables, ruleFields);
  if ("wrong" in expression) return { wrong: `${source} cannot be parsed: ${expression.wrong}` };
  return { id, expression, pointers };
}
