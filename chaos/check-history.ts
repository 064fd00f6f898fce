import { groupBy, pushToGroup } from "./group-by.ts";
import { type Interval, IntervalOrder } from "./interval-order.ts";
import {
  findLostAcknowledgement,
  groupSentEntries,
  isFencedCall,
  isLandedCall,
  landingInterval,
  matchJournal,
  type SentEntry,
  sentEntryName,
} from "./sent-entry.ts";
import {
  type AppendCall,
  appendCalls,
  claimCalls,
  grantedEpochs,
  type MarkCall,
  type RecordedCall,
  type RenewCall,
  type ServerOutage,
  type StoreHistory,
} from "./store-history.ts";

/** By run: the hashes of its events in the store at the end. */
export type StoredJournals = ReadonlyMap<string, readonly string[]>;

/**
 * Returns the reasons why no order of all calls exists, each between its request and its answer, in which the store
 * kept its promises. An empty list means that such an order exists.
 *
 * Runs are independent, so each is checked by itself. A run has a position and an epoch. The journal shows what landed,
 * so the order of appends is known, and the order of claims is the order of their epochs. It remains to check whether
 * both fit together and into the times of the requests and answers.
 *
 * `evicts`: an eviction moves the epoch too. It is no call; a gap between two granted epochs shows it.
 */
export function checkHistory(history: StoreHistory, journals: StoredJournals, evicts = false): readonly string[] {
  const all = new HistoryCheck(history, evicts);
  const runs = new Set([...journals.keys(), ...appendCalls(history).map(({ request }) => request.run)]);
  return [...runs].flatMap((run) => all.run(run, journals.get(run) ?? []));
}

interface GrantedEpoch {
  readonly epoch: number;
  readonly by: string;
  readonly from: number;
  readonly to: number;
}

class HistoryCheck {
  readonly #appends: ReadonlyMap<string, readonly AppendCall[]>;
  readonly #marks: ReadonlyMap<string, readonly MarkCall[]>;
  readonly #granted = new Map<string, GrantedEpoch[]>();
  readonly #renewed = new Map<string, GrantedEpoch[]>();
  /** The request times of claims without an answer: each may have given any run a new epoch. */
  readonly #unanswered: readonly number[];
  readonly #outages: readonly ServerOutage[];
  readonly #synced: SyncedAnswers;
  readonly #evicts: boolean;

  constructor(history: StoreHistory, evicts: boolean) {
    this.#evicts = evicts;
    const appends = appendCalls(history);
    const claims = claimCalls(history);
    this.#appends = groupBy(appends, ({ request }) => request.run);
    const marks = history.calls.filter((call): call is MarkCall => call.request.do === "mark");
    this.#marks = groupBy(marks, ({ request }) => request.claim[0]);
    for (const claim of claims)
      for (const [run, epoch] of grantedEpochs(claim))
        pushToGroup(this.#granted, run, { epoch, by: claim.by, from: claim.from, to: claim.to });
    for (const call of history.calls.filter((call): call is RenewCall => call.request.do === "renew"))
      for (const [run, epoch] of call.reply !== null && "renewed" in call.reply ? call.reply.renewed : [])
        pushToGroup(this.#renewed, run, { epoch, by: call.by, from: call.from, to: call.to });
    this.#unanswered = claims.filter(({ reply }) => reply === null || "fault" in reply).map(({ from }) => from);
    this.#outages = history.outages;
    this.#synced = new SyncedAnswers([
      ...appends.filter((call) => call.request.flush === "hard" && isLandedCall(call)),
      ...claims.filter((call) => grantedEpochs(call).length > 0),
    ]);
  }

  run(run: string, journal: readonly string[]): readonly string[] {
    const found: string[] = [];
    const report = (what: string): void => void found.push(`${run}: ${what}`);
    const order = new IntervalOrder();
    const granted = (this.#granted.get(run) ?? []).toSorted((left, claim) => left.epoch - claim.epoch);
    const epochs = new EpochOrder(granted, order, this.#evicts);
    for (const { epoch } of epochs.duplicates) report(`epoch ${epoch} was granted twice`);
    const sentEntries = groupSentEntries(this.#appends.get(run) ?? []);
    const { landed, problems } = matchJournal(journal, sentEntries);
    problems.forEach(report);
    for (const sentEntry of sentEntries.filter((each) => !landed.includes(each))) {
      const acknowledged = findLostAcknowledgement(sentEntry, journal);
      if (acknowledged !== undefined && !this.#mayBeLost(acknowledged))
        report(`${sentEntryName(sentEntry)} was acknowledged and is missing`);
    }
    this.#orderLanded(landed, sentEntries, epochs, order);
    this.#orderGrants(run, epochs, order);
    for (const sentEntry of sentEntries) this.#checkFences(sentEntry, epochs, order, report);
    return [...found, ...order.contradictions().map((what) => `${run}: ${what}`)];
  }

  /** True if the server failed after the append and before anything later was synced. */
  #mayBeLost(call: AppendCall): boolean {
    if (call.request.flush === "hard") return false;
    const safe = this.#synced.after(call.to);
    return this.#outages.some(({ from, to }) => to > call.from && from <= safe);
  }

  /** Orders the landed entries by position, and each within its epoch. */
  #orderLanded(
    landed: readonly SentEntry[],
    sentEntries: readonly SentEntry[],
    epochs: EpochOrder,
    order: IntervalOrder,
  ): void {
    let last: Interval | null = null;
    for (const sentEntry of landed) {
      const interval = order.add(sentEntryName(sentEntry), landingInterval(sentEntry));
      if (last !== null) order.before(last, interval);
      epochs.during(sentEntry.request.epoch, interval);
      last = interval;
    }
    // An entry that an outage lost had landed within its epoch too.
    for (const sentEntry of sentEntries.filter((each) => !landed.includes(each)))
      for (const call of sentEntry.tries.filter(isLandedCall))
        epochs.during(sentEntry.request.epoch, order.add(sentEntryName(sentEntry), call));
  }

  /** Orders granted markers and renewals within their epochs. */
  #orderGrants(run: string, epochs: EpochOrder, order: IntervalOrder): void {
    for (const { request, reply, from, to } of this.#marks.get(run) ?? [])
      if (reply !== null && "marked" in reply && reply.marked)
        epochs.during(
          request.claim[1],
          order.add(`the marker of ${request.step} under epoch ${request.claim[1]}`, { from, to }),
        );
    for (const { epoch, from, to } of this.#renewed.get(run) ?? [])
      epochs.during(epoch, order.add(`the renewal of epoch ${epoch}`, { from, to }));
  }

  /** Checks that a fenced worker had lost the run: a later epoch was granted, or may have been. */
  #checkFences(sentEntry: SentEntry, epochs: EpochOrder, order: IntervalOrder, report: (what: string) => void): void {
    const { epoch } = sentEntry.request;
    if (epoch === null) return;
    for (const call of sentEntry.tries.filter(isFencedCall)) {
      if (this.#unanswered.some((from) => from < call.to)) continue;
      const next = epochs.after(epoch);
      if (next === undefined) report(`${sentEntryName(sentEntry)} was fenced, but no later epoch was granted`);
      else order.before(next, order.add(`the fencing of ${sentEntryName(sentEntry)}`, call));
    }
  }
}

/** The times of synced answers: each call, with everything before it, was on disk when it was answered. */
class SyncedAnswers {
  /** By descending request time: the first answer to the call or to a later one. */
  readonly #calls: readonly { readonly from: number; readonly answered: number }[];

  constructor(calls: readonly RecordedCall[]) {
    let answered = Number.POSITIVE_INFINITY;
    const backwards = calls.toSorted((left, claim) => claim.from - left.from);
    this.#calls = backwards.map(({ from, to }) => {
      answered = Math.min(answered, to);
      return { from, answered };
    });
  }

  /** Returns the time of the first answer to a call that was requested after `time`. */
  after(time: number): number {
    return this.#calls.findLast(({ from }) => from > time)?.answered ?? Number.POSITIVE_INFINITY;
  }
}

/** The claims of one run, in the order of their epochs. */
class EpochOrder {
  readonly duplicates: readonly GrantedEpoch[];
  readonly #order: IntervalOrder;
  readonly #granted: readonly { readonly epoch: number; readonly by: string; readonly interval: Interval }[];

  constructor(granted: readonly GrantedEpoch[], order: IntervalOrder, evicts: boolean) {
    this.#order = order;
    this.duplicates = granted.filter(({ epoch }, index) => granted[index - 1]?.epoch === epoch);
    const moves = granted.filter((each) => !this.duplicates.includes(each));
    this.#granted = (evicts ? addEvictions(moves) : moves).map(({ epoch, by, from, to }) => ({
      epoch,
      by,
      interval: order.add(
        by === NO_WORKER ? `the eviction at epoch ${epoch}` : `the claim of epoch ${epoch} by ${by}`,
        { from, to },
      ),
    }));
    for (const [index, { interval }] of this.#granted.entries()) {
      const earlier = this.#granted[index - 1];
      if (earlier !== undefined) order.before(earlier.interval, interval);
    }
  }

  /** Returns the first claim of a later epoch. */
  after(epoch: number): Interval | undefined {
    return this.#granted.find((each) => each.epoch > epoch)?.interval;
  }

  /** Orders an interval after the claim of its epoch and before the next claim. */
  during(epoch: number | null, interval: Interval): void {
    if (epoch === null) return;
    const own = this.#granted.find((each) => each.epoch === epoch && each.by !== NO_WORKER)?.interval;
    if (own === undefined) this.#order.impossible(`${interval.name}: that epoch was never granted`);
    else this.#order.before(own, interval);
    const next = this.after(epoch);
    if (next !== undefined) this.#order.before(interval, next);
  }
}

const NO_WORKER = "";

/** Adds an eviction in each gap between two epochs, and one after the last epoch, which may never happen. */
function addEvictions(granted: readonly GrantedEpoch[]): readonly GrantedEpoch[] {
  return granted.flatMap((each, index) => {
    const next = granted[index + 1];
    if (next?.epoch === each.epoch + 1) return [each];
    return [each, { epoch: each.epoch + 1, by: NO_WORKER, from: each.from, to: next?.to ?? Number.POSITIVE_INFINITY }];
  });
}
