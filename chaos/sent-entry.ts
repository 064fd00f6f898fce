import { groupBy } from "./group-by.ts";
import type { AppendCall, RecordedCall } from "./store-history.ts";

/** One entry of one worker, with all its attempts. */
export interface SentEntry {
  readonly by: string;
  readonly request: AppendCall["request"];
  readonly tries: readonly AppendCall[];
}

/** Groups appends by worker and bytes. Two workers can send the same bytes by chance, even in one millisecond. */
export function groupSentEntries(appends: readonly AppendCall[]): readonly SentEntry[] {
  const same = groupBy(appends, ({ by, request: { position, epoch, hashes } }) =>
    [by, epoch, position, ...hashes].join(" "),
  );
  return [...same.values()].map((tries) => {
    const { by, request } = tries[0] as AppendCall;
    return { by, request, tries };
  });
}

export function sentEntryName({ request: { position, epoch } }: SentEntry): string {
  return `the append at ${position} ${epoch === null ? "from outside" : `under epoch ${epoch}`}`;
}

/** Returns the entries that a journal consists of, in order, and the events that no entry explains. */
export function matchJournal(
  journal: readonly string[],
  sentEntries: readonly SentEntry[],
): { readonly landed: readonly SentEntry[]; readonly problems: readonly string[] } {
  const landed: SentEntry[] = [];
  const problems: string[] = [];
  const starting = groupBy(sentEntries, ({ request }) => `${request.position}`);
  for (let position = 0; position < journal.length; ) {
    const candidates = (starting.get(`${position}`) ?? []).filter(
      ({ request }) => request.hashes[0] === journal[position],
    );
    const complete = candidates.filter((sentEntry) => isInJournal(sentEntry, journal));
    const acknowledged = complete.filter(({ tries }) => tries.some(isLandedCall));
    if (acknowledged.length > 1)
      problems.push(`event ${position + 1} exists once, but was acknowledged to ${acknowledged.length} workers`);
    const [match] = complete.toSorted((left, claim) => evidenceRank(claim) - evidenceRank(left));
    if (match === undefined) problems.push(describeUnexplained(position, candidates));
    else if (evidenceRank(match) === 0) problems.push(`${sentEntryName(match)} landed, but its answer was a refusal`);
    if (match !== undefined) landed.push(match);
    position += match?.request.hashes.length ?? 1;
  }
  return { landed, problems };
}

function describeUnexplained(position: number, [part]: readonly SentEntry[]): string {
  return part === undefined
    ? `event ${position + 1} was appended by no worker`
    : `${sentEntryName(part)} landed in part`;
}

function isInJournal({ request: { position, hashes } }: SentEntry, journal: readonly string[]): boolean {
  return hashes.every((hash, index) => journal[position + index] === hash);
}

/** Ranks how well the answers explain that the entry landed. */
function evidenceRank({ tries }: SentEntry): number {
  if (tries.some(isLandedCall)) return 3;
  if (tries.some(isAlreadyWritten)) return 2;
  return tries.some(mayHaveLanded) ? 1 : 0;
}

/** Returns the call that acknowledged the entry although it is missing. */
export function findLostAcknowledgement(sentEntry: SentEntry, journal: readonly string[]): AppendCall | undefined {
  if (isInJournal(sentEntry, journal)) return undefined;
  // The presence of the first event proves nothing about the later ones.
  return sentEntry.tries.find(
    (call) => isLandedCall(call) || (isAlreadyWritten(call) && call.request.hashes.length === 1),
  );
}

/** Returns the interval in which a landed entry landed. */
export function landingInterval({ tries }: SentEntry): { readonly from: number; readonly to: number } {
  const landed = tries.find(isLandedCall);
  if (landed !== undefined) return landed;
  const possible = tries.filter(mayHaveLanded);
  const own = tries.find(isAlreadyWritten);
  return { from: possible[0]?.from ?? 0, to: own?.to ?? Number.POSITIVE_INFINITY };
}

export function isLandedCall({ reply }: RecordedCall): boolean {
  return reply !== null && "landed" in reply && reply.landed;
}

/** True if the append was refused because its first event is already stored. */
export function isAlreadyWritten({ reply, request }: AppendCall): boolean {
  return reply !== null && "hash" in reply && reply.why === "position" && reply.hash === request.hashes[0];
}

export function isFencedCall({ reply }: RecordedCall): boolean {
  return reply !== null && "landed" in reply && !reply.landed && reply.why === "epoch";
}

export function isUnknownCall({ reply }: RecordedCall): boolean {
  return reply !== null && "fault" in reply && reply.fault === "STORE_UNKNOWN";
}

function mayHaveLanded(call: AppendCall): boolean {
  return call.reply === null || isLandedCall(call) || isAlreadyWritten(call) || isUnknownCall(call);
}
