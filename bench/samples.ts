/** Measured values. */
export type Samples = readonly number[];

export function median(samples: Samples): number {
  const sorted = [...samples].sort((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** Takes several sequential samples and returns their median. */
export async function sampleMedian(count: number, take: () => Promise<number>): Promise<number> {
  const samples: number[] = [];
  for (let taken = 0; taken < count; taken += 1) samples.push(await take());
  return median(samples);
}

/** Returns the smallest sample that is not exceeded by this share of the samples. */
export function percentile(samples: Samples, share: number): number {
  const sorted = [...samples].sort((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
