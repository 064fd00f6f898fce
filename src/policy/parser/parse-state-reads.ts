import { FieldReader } from "../../core/json/field-reader.ts";
import { ProblemList } from "../../core/json/problem-list.ts";
import type { ExpressionLanguage } from "../../core/ports/expression.ts";
import type { DeclaredState, NamedStatePointers } from "../../core/state/named-state-pointers.ts";
import type { Json } from "../../core/values/json.ts";
import { RuleFieldReader } from "../rules/rule-field-reader.ts";
import { parseStatePointers } from "./parse-state-pointers.ts";

/** Parses the state that a tool or a guard declares to read, or returns why it is invalid. */
export function parseStateReads(
  state: DeclaredState,
  language: ExpressionLanguage,
): NamedStatePointers | { readonly wrong: string } {
  const reasons = new ProblemList();
  const fields = new FieldReader({ state: state as Json }, "", reasons);
  const pointers = parseStatePointers(fields, new RuleFieldReader(reasons, language, null), "from input");
  return pointers ?? { wrong: reasons.list.map(({ path, message }) => `${path} ${message}`).join("; ") };
}
