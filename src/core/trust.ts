import type { Charged } from "./event.ts";

/** What someone has earned with a tool: calls that a person approved and that ended well, since the last that was refused or undone. */
export interface TrustRecord {
  /** Where it is counted, so that it is the sum of what journals say. */
  readonly tally: string;
  readonly earned: number;
}

/** An id stands last, so that whatever it says it cannot be taken for something else. */
export function trustTally(tool: string, principal: string): string {
  return `trust/${tool}/${principal}`;
}

/** It begins anew. What was earned in the same moment elsewhere stays. */
export function forfeited(record: TrustRecord | undefined): { readonly charges?: readonly Charged[] } {
  if (record === undefined || record.earned <= 0) return {};
  return { charges: [{ tally: record.tally, amount: -record.earned }] };
}
