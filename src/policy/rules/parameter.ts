import type { Expression } from "../../core/expression.ts";
import { type Json, sameJson } from "../../core/json/json.ts";
import { valueAt } from "../../core/json/pointer.ts";
import type { Clause } from "../rule.ts";

/** What is asked of a value; absent is not equal to anything, and contains nothing. */
export type Demanded =
  | { readonly is: "equals"; readonly value: Json }
  | { readonly is: "in"; readonly values: readonly Json[] }
  /** `text`: asks it of a text; null: no text contains it. */
  | { readonly is: "contains"; readonly value: Json; readonly text: Expression | null }
  | { readonly is: "matches"; readonly pattern: string; readonly text: Expression }
  | { readonly is: "at_most" | "at_least"; readonly value: number }
  | { readonly is: "exists" };

/** A value of the input must be so, or must not. What cannot be judged is refused either way. */
export function parameter(path: string, demanded: Demanded, must: boolean, reason: string | null): Clause {
  return ({ input }) => {
    const found = valueAt(input, path);
    const fits = judged(demanded, found);
    if (fits === must) return null;
    const what = `${path || "the input"} ${must ? "must" : "must not"} ${inWords(demanded)}`;
    const why = typeof fits === "boolean" ? what : `${what}, and that cannot be judged: ${fits.wrong}`;
    return { says: "refuse", reason: reason === null ? why : `${reason} (${why})` };
  };
}

type Judged = boolean | { readonly wrong: string };

function judged(demanded: Demanded, found: Json | undefined): Judged {
  if (demanded.is === "exists") return found !== undefined;
  if (found === undefined) return { wrong: "it is not there" };
  switch (demanded.is) {
    case "equals":
      return sameJson(found, demanded.value);
    case "in":
      return demanded.values.some((value) => sameJson(found, value));
    case "contains":
      return contains(found, demanded);
    case "matches":
      return asked(demanded.text, found);
    case "at_most":
    case "at_least":
      if (typeof found !== "number") return { wrong: "it is not a number" };
      return demanded.is === "at_most" ? found <= demanded.value : found >= demanded.value;
  }
}

function contains(whole: Json, { value, text }: Extract<Demanded, { is: "contains" }>): Judged {
  if (Array.isArray(whole)) return whole.some((item) => sameJson(item, value));
  if (typeof whole !== "string" || text === null) return { wrong: "it is neither a text nor a list" };
  return asked(text, whole);
}

function asked(expression: Expression, value: Json): Judged {
  const answer = expression.test({ value });
  return "wrong" in answer ? { wrong: answer.wrong } : answer.holds;
}

function inWords(demanded: Demanded): string {
  switch (demanded.is) {
    case "exists":
      return "be there";
    case "in":
      return `be one of ${JSON.stringify(demanded.values)}`;
    case "matches":
      return `match ${demanded.pattern}`;
    case "at_most":
      return `be at most ${demanded.value}`;
    case "at_least":
      return `be at least ${demanded.value}`;
    default:
      return `${demanded.is === "equals" ? "equal" : "contain"} ${JSON.stringify(demanded.value)}`;
  }
}
