import { grouped, push } from "./grouped.ts";
import {
  type Appending,
  appendsIn,
  type Call,
  claimsIn,
  givenBy,
  type History,
  type Marking,
  type Outage,
  type Renewing,
} from "./history.ts";
import { type Moment, Moments } from "./moments.ts";
import { acknowledgedBy, isFenced, isLanded, landedIn, nameOf, type Sending, sendingsOf, timeOf } from "./sending.ts";

/** The hashes of a run's events as they stand in the store in the end. */
export type Journals = ReadonlyMap<string, readonly string[]>;

/**
 * Is there one order of all calls, each at some moment between its question and its answer, in which the store did what it
 * promises? Answers with what speaks against it; nothing, if there is one.
 *
 * Runs do not touch each other, so each is checked alone. A run is a position and an epoch. What landed is in its journal, so the
 * order of appends is known, and that of claims is the order of their epochs; what remains to be asked is whether both fit
 * together and into the times at which they were asked and answered.
 */
export function check(history: History, journals: Journals): readonly string[] {
  const all = new Check(history);
  const runs = new Set([...journals.keys(), ...appendsIn(history).map(({ asked }) => asked.run)]);
  return [...runs].flatMap((run) => all.run(run, journals.get(run) ?? []));
}

interface Given {
  readonly epoch: number;
  readonly by: string;
  readonly from: number;
  readonly to: number;
}

class Check {
  readonly #appends: ReadonlyMap<string, readonly Appending[]>;
  readonly #marks: ReadonlyMap<string, readonly Marking[]>;
  readonly #given = new Map<string, Given[]>();
  readonly #renewed = new Map<string, Given[]>();
  /** When claims were asked for whose answer nobody heard: each may have given any run a new epoch. */
  readonly #unheard: readonly number[];
  readonly #outages: readonly Outage[];
  readonly #synced: Synced;

  constructor(history: History) {
    const appends = appendsIn(history);
    const claims = claimsIn(history);
    this.#appends = grouped(appends, ({ asked }) => asked.run);
    const marks = history.calls.filter((call): call is Marking => call.asked.do === "mark");
    this.#marks = grouped(marks, ({ asked }) => asked.right[0]);
    for (const claim of claims)
      for (const [run, epoch] of givenBy(claim))
        push(this.#given, run, { epoch, by: claim.by, from: claim.from, to: claim.to });
    for (const call of history.calls.filter((call): call is Renewing => call.asked.do === "renew"))
      for (const [run, epoch] of call.heard !== null && "kept" in call.heard ? call.heard.kept : [])
        push(this.#renewed, run, { epoch, by: call.by, from: call.from, to: call.to });
    this.#unheard = claims.filter(({ heard }) => heard === null || "fault" in heard).map(({ from }) => from);
    this.#outages = history.outages;
    this.#synced = new Synced([
      ...appends.filter((call) => call.asked.flush === "hard" && isLanded(call)),
      ...claims.filter((call) => givenBy(call).length > 0),
    ]);
  }

  run(run: string, journal: readonly string[]): readonly string[] {
    const found: string[] = [];
    const say = (what: string): void => void found.push(`${run}: ${what}`);
    const moments = new Moments();
    const given = (this.#given.get(run) ?? []).toSorted((left, right) => left.epoch - right.epoch);
    const epochs = new Epochs(given, moments);
    for (const { epoch } of epochs.twice) say(`epoch ${epoch} was given out twice`);
    const sendings = sendingsOf(this.#appends.get(run) ?? []);
    const { landed, wrong } = landedIn(journal, sendings);
    wrong.forEach(say);
    for (const sending of sendings.filter((each) => !landed.includes(each))) {
      const acknowledged = acknowledgedBy(sending, journal);
      if (acknowledged !== undefined && !this.#mayBeLost(acknowledged))
        say(`${nameOf(sending)} was acknowledged and is not there`);
    }
    this.#order(landed, sendings, epochs, moments);
    this.#askedAt(run, epochs, moments);
    for (const sending of sendings) this.#fences(sending, epochs, moments, say);
    return [...found, ...moments.contradictions().map((what) => `${run}: ${what}`)];
  }

  /** The server went down after it, and nothing was synced in between. */
  #mayBeLost(call: Appending): boolean {
    if (call.asked.flush === "hard") return false;
    const safe = this.#synced.after(call.to);
    return this.#outages.some(({ from, to }) => to > call.from && from <= safe);
  }

  /** What landed did so in the order of its positions, and each under its epoch. */
  #order(landed: readonly Sending[], sendings: readonly Sending[], epochs: Epochs, moments: Moments): void {
    let last: Moment | null = null;
    for (const sending of landed) {
      const moment = moments.add(nameOf(sending), timeOf(sending));
      if (last !== null) moments.before(last, moment);
      epochs.during(sending.asked.epoch, moment);
      last = moment;
    }
    // What an outage has taken back had landed under its epoch, too.
    for (const sending of sendings.filter((each) => !landed.includes(each)))
      for (const call of sending.tries.filter(isLanded))
        epochs.during(sending.asked.epoch, moments.add(nameOf(sending), call));
  }

  /** Markers and renewals that the store granted, it granted to whom the run belonged. */
  #askedAt(run: string, epochs: Epochs, moments: Moments): void {
    for (const { asked, heard, from, to } of this.#marks.get(run) ?? [])
      if (heard !== null && "marked" in heard && heard.marked)
        epochs.during(
          asked.right[1],
          moments.add(`the marker of ${asked.step} under epoch ${asked.right[1]}`, { from, to }),
        );
    for (const { epoch, from, to } of this.#renewed.get(run) ?? [])
      epochs.during(epoch, moments.add(`the renewal of epoch ${epoch}`, { from, to }));
  }

  /** Who is told that the epoch has moved is told the truth: someone was given a later one, or may have been. */
  #fences(sending: Sending, epochs: Epochs, moments: Moments, say: (what: string) => void): void {
    const { epoch } = sending.asked;
    if (epoch === null) return;
    for (const call of sending.tries.filter(isFenced)) {
      if (this.#unheard.some((from) => from < call.to)) continue;
      const next = epochs.after(epoch);
      if (next === undefined) say(`${nameOf(sending)} was fenced, and nobody has a later epoch`);
      else moments.before(next, moments.add(`the fencing of ${nameOf(sending)}`, call));
    }
  }
}

/** What was on disk when it was answered, with all before it. */
class Synced {
  /** In the order in which they were asked for, each with the first answer to it or to a later one. */
  readonly #calls: readonly { readonly from: number; readonly answered: number }[];

  constructor(calls: readonly Call[]) {
    let answered = Number.POSITIVE_INFINITY;
    const backwards = calls.toSorted((left, right) => right.from - left.from);
    this.#calls = backwards.map(({ from, to }) => {
      answered = Math.min(answered, to);
      return { from, answered };
    });
  }

  /** When the first answer came to what was asked for after this. */
  after(time: number): number {
    return this.#calls.findLast(({ from }) => from > time)?.answered ?? Number.POSITIVE_INFINITY;
  }
}

/** The claims of one run, in the order of their epochs. */
class Epochs {
  readonly twice: readonly Given[];
  readonly #moments: Moments;
  readonly #given: readonly { readonly epoch: number; readonly moment: Moment }[];

  constructor(given: readonly Given[], moments: Moments) {
    this.#moments = moments;
    this.twice = given.filter(({ epoch }, index) => given[index - 1]?.epoch === epoch);
    this.#given = given
      .filter((each) => !this.twice.includes(each))
      .map(({ epoch, by, from, to }) => ({
        epoch,
        moment: moments.add(`the claim of epoch ${epoch} by ${by}`, { from, to }),
      }));
    for (const [index, { moment }] of this.#given.entries()) {
      const earlier = this.#given[index - 1];
      if (earlier !== undefined) moments.before(earlier.moment, moment);
    }
  }

  /** The first claim of a later epoch. */
  after(epoch: number): Moment | undefined {
    return this.#given.find((each) => each.epoch > epoch)?.moment;
  }

  /** It happened while this was the epoch. */
  during(epoch: number | null, moment: Moment): void {
    if (epoch === null) return;
    const mine = this.#given.find((each) => each.epoch === epoch)?.moment;
    if (mine === undefined) this.#moments.impossible(`${moment.name}: nobody was given that epoch`);
    else this.#moments.before(mine, moment);
    const next = this.after(epoch);
    if (next !== undefined) this.#moments.before(moment, next);
  }
}
