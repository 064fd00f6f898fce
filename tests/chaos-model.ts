import type { Journals } from "../chaos/checker.ts";
import type { Answer, Line, Question } from "../chaos/history.ts";
import { Rng } from "../sim/rng.ts";

/** What a store can be without. */
export type Wrong = "no epoch condition" | "an epoch again" | "an append forgotten" | "a refusal that lands";

/** A question that is under way: it takes effect at one moment, and is answered later, or never. */
interface UnderWay {
  readonly id: string;
  readonly by: string;
  readonly asked: Question;
  answer: Answer | null;
}

/** Workers that claim and append at random, on a store that answers late and loses answers; and what one would have seen. */
export function playedOn(
  seed: number,
  wrong: Wrong | null,
): { readonly lines: readonly Line[]; readonly journals: Journals } {
  const play = new Play(new Rng(seed), wrong);
  for (let turn = 0; turn < 120; turn += 1) play.turn();
  return { lines: play.lines, journals: new Map([["run", play.journal]]) };
}

class Play {
  readonly lines: Line[] = [];
  readonly journal: string[] = [];
  readonly #rng: Rng;
  readonly #wrong: Wrong | null;
  #epoch = 0;
  #count = 0;
  readonly #underWay: UnderWay[] = [];
  /** What each worker was given, and where it believes the run to be. */
  readonly #rights = new Map<string, number>();

  constructor(rng: Rng, wrong: Wrong | null) {
    this.#rng = rng;
    this.#wrong = wrong;
  }

  turn(): void {
    const dice = this.#rng.below(3);
    if (dice === 0) this.#ask();
    else if (dice === 1) this.#happen();
    else this.#hear();
  }

  #ask(): void {
    const by = ["ana", "bob", "cid"][this.#rng.below(3)] as string;
    if (this.#underWay.some((each) => each.by === by)) return;
    this.#count += 1;
    const call: UnderWay = { id: `${this.#count}`, by, asked: this.#question(by), answer: null };
    this.#underWay.push(call);
    this.lines.push({ id: call.id, by, asked: call.asked });
  }

  #question(by: string): Question {
    const epoch = this.#rights.get(by);
    if (epoch === undefined || this.#rng.below(4) === 0) return { do: "claim", run: "run" };
    const hashes = Array.from({ length: this.#rng.between(1, 2) }, (_, index) => `${this.#count} ${index}`);
    return { do: "append", run: "run", position: this.journal.length, epoch, hashes, flush: "hard" };
  }

  /** One of those under way takes effect. */
  #happen(): void {
    const waiting = this.#underWay.filter(({ answer }) => answer === null);
    const call = waiting[this.#rng.below(Math.max(1, waiting.length))];
    if (call === undefined) return;
    call.answer = call.asked.do === "append" ? this.#append(call.asked) : this.#claim(call.by);
  }

  #append({ position, epoch, hashes }: Extract<Question, { do: "append" }>): Answer {
    if (epoch !== this.#epoch && this.#wrong !== "no epoch condition") return { landed: false, why: "epoch" };
    if (position !== this.journal.length)
      return { landed: false, why: "position", position: this.journal.length, hash: this.journal[position] ?? null };
    if (this.#wrong === "an append forgotten" && this.#rng.below(10) === 0) return { landed: true };
    this.journal.push(...hashes);
    if (this.#wrong === "a refusal that lands" && this.#rng.below(10) === 0) return { landed: false, why: "row" };
    return { landed: true };
  }

  #claim(by: string): Answer {
    if (this.#wrong !== "an epoch again" || this.#rng.below(10) > 0) this.#epoch += 1;
    this.#rights.set(by, this.#epoch);
    return { given: [["run", this.#epoch]] };
  }

  /** The answer comes, or is lost. */
  #hear(): void {
    const at = this.#rng.below(Math.max(1, this.#underWay.length));
    const call = this.#underWay[at];
    if (call?.answer == null) return;
    this.#underWay.splice(at, 1);
    const isLost = this.#rng.below(8) === 0;
    if (isLost && call.asked.do === "claim") this.#rights.delete(call.by); // Whoever held it does not know it.
    if (isLost) this.lines.push({ id: call.id, heard: { fault: "STORE_UNKNOWN" } });
    else this.lines.push({ id: call.id, heard: call.answer });
  }
}
