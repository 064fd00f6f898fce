import type { Charged, Reserved } from "./limits/charged.ts";

/** What someone has earned with a tool: calls that a person approved and that ended well, since the last that was refused or undone. */
export interface TrustRecord {
  /** Where it is counted, so that it is the sum of what journals say. */
  readonly tally: string;
  readonly earned: number;
  /** How often it was lost, and where that is counted: what is let through by it holds only while that is no more. */
  readonly lost: { readonly tally: string; readonly times: number };
}

/** An id stands last, so that whatever it says it cannot be taken for something else. */
export function trustTally(tool: string, principal: string): string {
  return `trust/${tool}/${principal}`;
}

export function lossTally(tool: string, principal: string): string {
  return `trust-lost/${tool}/${principal}`;
}

/** It begins anew. What was earned in the same moment elsewhere stays. */
export function forfeited(record: TrustRecord | undefined): { readonly charges?: readonly Charged[] } {
  if (record === undefined || record.earned <= 0) return {};
  const { tally, earned, lost } = record;
  return {
    charges: [
      { tally, amount: -earned },
      { tally: lost.tally, amount: 1 },
    ],
  };
}

/** What a call that nobody was asked about relies on: a charge of nothing, refused once there was one more loss. */
export function reliedOn({ lost }: TrustRecord): Reserved {
  return { tally: lost.tally, amount: 0, limit: lost.times };
}
