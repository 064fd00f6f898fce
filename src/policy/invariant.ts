import type { Expression } from "../core/expression.ts";
import type { Json } from "../core/json/json.ts";
import type { Aftermath } from "../core/state/aftermath.ts";
import { placeFor, type StatePlaces, stateAt } from "./state-places.ts";

/** What has to hold of state after every change: of places that are named, or of each entry of a slice. */
export interface Invariant {
  /** Layer, document and rule: what the record calls it. */
  readonly id: string;
  readonly reason: string | null;
  readonly expression: Expression;
  readonly about: { readonly places: StatePlaces } | { readonly slice: string };
}

/** So many answers are given for one change: whoever changes more in one call has none, and is refused. */
const ANSWERS_MOST = 2000;

/** Why state may not become what it would; null: it may. What the change does not touch is not asked again. */
export function broken(invariants: readonly Invariant[], aftermath: Aftermath): Broken | null {
  let left = ANSWERS_MOST;
  for (const invariant of invariants) {
    for (const asked of questionsOf(invariant, aftermath)) {
      left -= 1;
      const why = left < 0 ? `takes more than ${ANSWERS_MOST} answers; change less at once` : flawIn(invariant, asked);
      if (why !== null) return { rule: invariant.id, reason: inWords(invariant, why) };
    }
  }
  return null;
}

export interface Broken {
  readonly rule: string;
  readonly reason: string;
}

/** What a condition is asked about, and whose that is; or why it cannot be. */
type Question = { readonly of: string; readonly data: Readonly<Record<string, Json>> } | { readonly wrong: string };

function questionsOf({ about }: Invariant, aftermath: Aftermath): readonly Question[] {
  if ("slice" in about)
    return aftermath.entriesOf(about.slice).map(([key, entry]) => ({ of: ` of ${key}`, data: { key, entry } }));
  if (!about.places.some(([, place]) => aftermath.touches(placeFor(place, null) ?? ""))) return [];
  const seen = stateAt(about.places, null, (place) => aftermath.at(place));
  return ["wrong" in seen ? seen : { of: "", data: { state: seen.state } }];
}

function flawIn({ expression }: Invariant, asked: Question): string | null {
  if ("wrong" in asked) return `cannot be answered: ${asked.wrong}`;
  const answer = expression.test(asked.data);
  if ("wrong" in answer) return `cannot be answered${asked.of}: ${answer.wrong}`;
  return answer.holds ? null : `does not hold${asked.of}`;
}

function inWords({ expression, reason }: Invariant, why: string): string {
  const said = `${expression.source} ${why}`;
  return reason === null ? said : `${reason} (${said})`;
}
