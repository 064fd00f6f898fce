import type { FieldReader } from "../../core/json/field-reader.ts";
import { parsePointer } from "../../core/json/json-pointer.ts";
import type { NamedStatePointers, PointerToken, StatePointer } from "../../core/state/named-state-pointers.ts";
import { isJsonObject, type Json } from "../../core/values/json.ts";
import type { RuleFieldReader } from "../rules/rule-field-reader.ts";
import { ruleVariables } from "../rules/rule-input.ts";
import type { StateInvariant } from "../rules/state-invariant.ts";

/** The maximum number of state pointers in one condition. */
const MAX_POINTERS = 20;
const NAME = /^[a-z][a-zA-Z0-9_]{0,63}$/;
const SLICE = { pattern: /^[A-Za-z0-9][\w.-]{0,63}$/, form: "the name of a slice" };

export const stateFields = ["state", "expression"];
/** The variables in the expression of a state rule. */
export const stateVariables = [...ruleVariables, "state"];

/** Parses the state pointers of a condition. Returns null, and adds reasons, if one is invalid. */
export function parseStatePointers(
  fields: FieldReader,
  reader: RuleFieldReader,
  tokens: "from input" | "constant",
): NamedStatePointers | null {
  const inner = reader.object(fields, "state");
  const named = inner === null ? [] : Object.entries(fields.object("state"));
  if (inner === null || named.length === 0 || named.length > MAX_POINTERS) {
    fields.addReason("state", `must have 1 to ${MAX_POINTERS} names, each with a pointer into state`);
    return null;
  }
  const pointers = named.map(([name, raw]) => [name, parseStatePointer(inner, name, raw, tokens)] as const);
  const valid = pointers.filter((each): each is readonly [string, StatePointer] => each[1] !== null);
  return valid.length === pointers.length ? valid : null;
}

function parseStatePointer(
  fields: FieldReader,
  name: string,
  raw: Json,
  tokens: "from input" | "constant",
): StatePointer | null {
  const reject = (reason: string): null => {
    fields.addReason(name, reason);
    return null;
  };
  if (!NAME.test(name)) return reject("must be a name: a lower-case letter, then letters, digits or _");
  const pointer = typeof raw === "string" ? parsePointer(raw) : Array.isArray(raw) ? raw.map(parseToken) : null;
  if (
    pointer === null ||
    pointer.length < 2 ||
    pointer[0] === "" ||
    typeof pointer[0] !== "string" ||
    pointer.some((token) => token === null)
  )
    return reject(`must be a slice and an entry of it, as in /orders/first or ["orders", { "input": "/order" }]`);
  if (tokens === "constant" && pointer.some((token) => typeof token !== "string"))
    return reject("must be constant; only a state rule may take a token from the input");
  return pointer as StatePointer;
}

function parseToken(raw: Json): PointerToken | null {
  if (typeof raw === "string") return raw;
  if (!isJsonObject(raw) || Object.keys(raw).length !== 1) return null;
  const { input } = raw;
  return typeof input === "string" && parsePointer(input) !== null ? { input } : null;
}

/** Parses a condition that the state must satisfy after every change. */
export function parseInvariant(
  fields: FieldReader,
  reader: RuleFieldReader,
  id: string,
  reason: string | null,
): StateInvariant | null {
  fields.refuseUnknown(["id", "kind", "reason", "state", "slice", "expression"]);
  const slice = fields.text("slice", SLICE, null);
  const isAboutEntries = fields.value("slice") !== undefined;
  if (isAboutEntries && fields.value("state") !== undefined)
    fields.addReason("slice", "cannot be combined with state; give one of them");
  const pointers = isAboutEntries ? null : parseStatePointers(fields, reader, "constant");
  const source = fields.value("expression");
  if (typeof source !== "string") fields.addReason("expression", "is required: the condition, as text");
  const variables = isAboutEntries ? ["entry", "key"] : ["state"];
  const expression =
    typeof source === "string" ? reader.parseExpression(fields, "expression", source, variables) : null;
  const about = slice !== null ? { slice } : pointers !== null ? { pointers } : null;
  return about && expression && { id, reason, expression, about };
}
