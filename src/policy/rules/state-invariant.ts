import type { Expression } from "../../core/ports/expression.ts";
import { collectState, type NamedStatePointers, resolveStatePointer } from "../../core/state/named-state-pointers.ts";
import type { StateAfterPatch } from "../../core/state/state-after-patch.ts";
import type { Json } from "../../core/values/json.ts";

/** A condition that state must satisfy after every change: on named pointers, or on each entry of a slice. */
export interface StateInvariant {
  /** Layer, document and rule, as in the record. */
  readonly id: string;
  readonly reason: string | null;
  readonly expression: Expression;
  readonly about: { readonly pointers: NamedStatePointers } | { readonly slice: string };
}

/** The maximum number of evaluations for one change; a change that needs more is refused. */
const MAX_EVALUATIONS = 2000;

/**
 * Returns the first invariant that the changed state violates, or null. Checks only entries that the change touches.
 */
export function findBrokenInvariant(
  invariants: readonly StateInvariant[],
  after: StateAfterPatch,
): BrokenInvariant | null {
  let remaining = MAX_EVALUATIONS;
  for (const invariant of invariants) {
    for (const subject of findSubjects(invariant, after)) {
      remaining -= 1;
      const why =
        remaining < 0
          ? `takes more than ${MAX_EVALUATIONS} evaluations; change less at once`
          : findViolation(invariant, subject);
      if (why !== null) return { rule: invariant.id, reason: describeViolation(invariant, why) };
    }
  }
  return null;
}

export interface BrokenInvariant {
  readonly rule: string;
  readonly reason: string;
}

/** The variables of one evaluation, with a name for messages; or why the state cannot be read. */
type InvariantSubject =
  | { readonly name: string; readonly data: Readonly<Record<string, Json>> }
  | { readonly wrong: string };

function findSubjects({ about }: StateInvariant, after: StateAfterPatch): readonly InvariantSubject[] {
  if ("slice" in about)
    return after.entriesOf(about.slice).map(([key, entry]) => ({ name: ` for ${key}`, data: { key, entry } }));
  if (!about.pointers.some(([, pointer]) => after.touches(resolveStatePointer(pointer, null) ?? ""))) return [];
  const collected = collectState(about.pointers, null, (path) => after.at(path));
  return ["wrong" in collected ? collected : { name: "", data: { state: collected.state } }];
}

function findViolation({ expression }: StateInvariant, subject: InvariantSubject): string | null {
  if ("wrong" in subject) return `cannot be evaluated: ${subject.wrong}`;
  const answer = expression.test(subject.data);
  if ("wrong" in answer) return `cannot be evaluated${subject.name}: ${answer.wrong}`;
  return answer.holds ? null : `is false${subject.name}`;
}

function describeViolation({ expression, reason }: StateInvariant, why: string): string {
  const violation = `${expression.source} ${why}`;
  return reason === null ? violation : `${reason} (${violation})`;
}
