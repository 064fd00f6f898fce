import type { Act, Step } from "../run/step.ts";
import type { ExternalChange } from "../tool/external-change.ts";

/** Returns the changes of the act with those of the event, or nothing if the event has none. */
export function addExternalChanges(
  { act }: Step,
  { changes }: { readonly changes?: readonly ExternalChange[] },
): Partial<Pick<Act, "changes">> {
  return changes === undefined ? {} : { changes: [...(act?.changes ?? []), ...changes] };
}
