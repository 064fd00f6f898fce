import { grouped } from "./grouped.ts";
import type { Appending, Call } from "./history.ts";

/** One entry of one worker, however often it was sent. */
export interface Sending {
  readonly by: string;
  readonly asked: Appending["asked"];
  readonly tries: readonly Appending[];
}

/** The same bytes sent again are the same entry. Two workers can mean the same by chance, to the millisecond. */
export function sendingsOf(appends: readonly Appending[]): readonly Sending[] {
  const same = grouped(appends, ({ by, asked: { position, epoch, hashes } }) =>
    [by, epoch, position, ...hashes].join(" "),
  );
  return [...same.values()].map((tries) => {
    const { by, asked } = tries[0] as Appending;
    return { by, asked, tries };
  });
}

export function nameOf({ asked: { position, epoch } }: Sending): string {
  return `the append at ${position} ${epoch === null ? "from outside" : `under epoch ${epoch}`}`;
}

/** Which entries a journal is made of, in order; and what in it none of them explains. */
export function landedIn(
  journal: readonly string[],
  sendings: readonly Sending[],
): { readonly landed: readonly Sending[]; readonly wrong: readonly string[] } {
  const landed: Sending[] = [];
  const wrong: string[] = [];
  const starting = grouped(sendings, ({ asked }) => `${asked.position}`);
  for (let position = 0; position < journal.length; ) {
    const there = (starting.get(`${position}`) ?? []).filter(({ asked }) => asked.hashes[0] === journal[position]);
    const whole = there.filter((sending) => stands(sending, journal));
    const told = whole.filter(({ tries }) => tries.some(isLanded));
    if (told.length > 1)
      wrong.push(`event ${position + 1} is there once, and ${told.length} were told that it is theirs`);
    const [best] = whole.toSorted((left, right) => rankOf(right) - rankOf(left));
    if (best === undefined) wrong.push(unexplained(position, there));
    else if (rankOf(best) === 0) wrong.push(`${nameOf(best)} landed, though the answer was that it did not`);
    if (best !== undefined) landed.push(best);
    position += best?.asked.hashes.length ?? 1;
  }
  return { landed, wrong };
}

function unexplained(position: number, [part]: readonly Sending[]): string {
  return part === undefined ? `event ${position + 1} was appended by nobody` : `${nameOf(part)} landed in part`;
}

function stands({ asked: { position, hashes } }: Sending, journal: readonly string[]): boolean {
  return hashes.every((hash, index) => journal[position + index] === hash);
}

/** How well what was answered explains that it is there. */
function rankOf({ tries }: Sending): number {
  if (tries.some(isLanded)) return 3;
  if (tries.some(isMine)) return 2;
  return tries.some(mayHaveLanded) ? 1 : 0;
}

/** The answer by which someone was told that all of it is there, and it is not. */
export function acknowledgedBy(sending: Sending, journal: readonly string[]): Appending | undefined {
  if (stands(sending, journal)) return undefined;
  // That the first event is there says nothing of those behind it.
  return sending.tries.find((call) => isLanded(call) || (isMine(call) && call.asked.hashes.length === 1));
}

/** Between which answers something landed that did. */
export function timeOf({ tries }: Sending): { readonly from: number; readonly to: number } {
  const landed = tries.find(isLanded);
  if (landed !== undefined) return landed;
  const possible = tries.filter(mayHaveLanded);
  const mine = tries.find(isMine);
  return { from: possible[0]?.from ?? 0, to: mine?.to ?? Number.POSITIVE_INFINITY };
}

export function isLanded({ heard }: Call): boolean {
  return heard !== null && "landed" in heard && heard.landed;
}

/** It is refused because its first event is already there. */
export function isMine({ heard, asked }: Appending): boolean {
  return heard !== null && "hash" in heard && heard.why === "position" && heard.hash === asked.hashes[0];
}

export function isFenced({ heard }: Call): boolean {
  return heard !== null && "landed" in heard && !heard.landed && heard.why === "epoch";
}

export function isUnknown({ heard }: Call): boolean {
  return heard !== null && "fault" in heard && heard.fault === "STORE_UNKNOWN";
}

function mayHaveLanded(call: Appending): boolean {
  return call.heard === null || isLanded(call) || isMine(call) || isUnknown(call);
}
