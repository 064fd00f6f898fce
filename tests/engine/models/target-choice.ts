import fc from "fast-check";

/** Selects the target of a move: the nth target to which the move applies or, if `blind`, the nth of all. */
export interface TargetChoice<Deed extends string> {
  readonly do: Deed;
  readonly nth: number;
  readonly blind: boolean;
}

/** Generates choices with these weights. */
export function targetChoices<Deed extends string>(weights: Readonly<Record<Deed, number>>) {
  const deeds = (Object.entries(weights) as [Deed, number][]).map(([deed, weight]) => ({
    weight,
    arbitrary: fc.constant(deed),
  }));
  return { do: fc.oneof(...deeds), nth: fc.nat(7), blind: rarely };
}

export const rarely = fc.nat(7).map((dice) => dice === 7);

/** Returns a move and its target. If the move applies to no target, the next applicable move replaces it. */
export function chooseTarget<Deed extends string, One extends { readonly state: string }>(
  { do: wanted, nth, blind }: TargetChoice<Deed>,
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
