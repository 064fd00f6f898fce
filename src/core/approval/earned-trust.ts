import type { LimitedCharge, TallyCharge } from "../limits/tally-charge.ts";

/**
 * The trust that a principal has earned with a tool: the number of its calls that a person approved and that succeeded,
 * since the last one that was rejected or undone.
 */
export interface EarnedTrust {
  /** The tally that counts earned trust. Its value is the sum of the charges in the journals. */
  readonly tally: string;
  readonly earned: number;
  /** The number of losses and their tally. A call allowed by trust may start only while this number is unchanged. */
  readonly lost: { readonly tally: string; readonly times: number };
}

/** The principal id comes last, because it may contain any character. */
export function trustTally(tool: string, principal: string): string {
  return `trust/${tool}/${principal}`;
}

export function trustLossTally(tool: string, principal: string): string {
  return `trust-lost/${tool}/${principal}`;
}

/** Returns the charges that reset the trust to zero. Trust earned concurrently elsewhere is kept. */
export function forfeitTrust(record: EarnedTrust | undefined): { readonly charges?: readonly TallyCharge[] } {
  if (record === undefined || record.earned <= 0) return {};
  const { tally, earned, lost } = record;
  return {
    charges: [
      { tally, amount: -earned },
      { tally: lost.tally, amount: 1 },
    ],
  };
}

/** Returns the condition of a call allowed by trust: a charge of zero that is refused after a further loss. */
export function trustCondition({ lost }: EarnedTrust): LimitedCharge {
  return { tally: lost.tally, amount: 0, limit: lost.times };
}
