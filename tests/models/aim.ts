import fc from "fast-check";

/** How a move finds whom it is about: the nth of those for whom it means something; blindly, the nth of all. */
export interface Aim<Deed extends string> {
  readonly do: Deed;
  readonly nth: number;
  readonly blind: boolean;
}

/** Deeds as often as they are weighty. */
export function aims<Deed extends string>(weights: Readonly<Record<Deed, number>>) {
  const deeds = (Object.entries(weights) as [Deed, number][]).map(([deed, weight]) => ({
    weight,
    arbitrary: fc.constant(deed),
  }));
  return { do: fc.oneof(...deeds), nth: fc.nat(7), blind: seldom };
}

export const seldom = fc.nat(7).map((dice) => dice === 7);

/** Where nobody could be meant, the next deed that means something to someone: a move is seldom wasted. */
export function aimed<Deed extends string, One extends { readonly state: string }>(
  { do: wanted, nth, blind }: Aim<Deed>,
  all: readonly One[],
  meant: Readonly<Record<Deed, readonly string[]>>,
): readonly [Deed, One] | null {
  const deeds = Object.keys(meant) as Deed[];
  const first = deeds.indexOf(wanted);
  for (const deed of blind ? [] : [...deeds.slice(first), ...deeds.slice(0, first)]) {
    const fit = all.filter(({ state }) => meant[deed].includes(state));
    if (fit.length > 0) return [deed, fit[nth % fit.length] as One];
  }
  return all.length === 0 ? null : [wanted, all[nth % all.length] as One];
}
