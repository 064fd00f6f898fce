import type { StoredJournals } from "../../chaos/check-history.ts";
import type { HistoryLine, StoreReply, StoreRequest } from "../../chaos/store-history.ts";
import { Rng } from "../../sim/rng.ts";

/** A bug of the modelled store. */
export type StoreBug = "no epoch condition" | "a repeated epoch" | "a lost append" | "a refusal that lands";

/** A pending request: it takes effect at one moment, and is answered later or never. */
interface PendingRequest {
  readonly id: string;
  readonly by: string;
  readonly request: StoreRequest;
  answer: StoreReply | null;
}

/** Returns the history of workers that claim and append at random, on a store that delays and loses answers. */
export function makeRandomHistory(
  seed: number,
  bug: StoreBug | null,
): { readonly lines: readonly HistoryLine[]; readonly journals: StoredJournals } {
  const model = new HistoryModel(new Rng(seed), bug);
  for (let step = 0; step < 120; step += 1) model.step();
  return { lines: model.lines, journals: new Map([["run", model.journal]]) };
}

class HistoryModel {
  readonly lines: HistoryLine[] = [];
  readonly journal: string[] = [];
  readonly #rng: Rng;
  readonly #bug: StoreBug | null;
  #epoch = 0;
  #count = 0;
  readonly #pending: PendingRequest[] = [];
  /** By worker: the epoch that it was granted. */
  readonly #epochs = new Map<string, number>();

  constructor(rng: Rng, bug: StoreBug | null) {
    this.#rng = rng;
    this.#bug = bug;
  }

  step(): void {
    const choice = this.#rng.below(3);
    if (choice === 0) this.#sendRequest();
    else if (choice === 1) this.#execute();
    else this.#deliverAnswer();
  }

  #sendRequest(): void {
    const by = ["ana", "bob", "cid"][this.#rng.below(3)] as string;
    if (this.#pending.some((each) => each.by === by)) return;
    this.#count += 1;
    const call: PendingRequest = { id: `${this.#count}`, by, request: this.#drawRequest(by), answer: null };
    this.#pending.push(call);
    this.lines.push({ id: call.id, by, request: call.request });
  }

  #drawRequest(by: string): StoreRequest {
    const epoch = this.#epochs.get(by);
    if (epoch === undefined || this.#rng.below(4) === 0) return { do: "claim", run: "run" };
    const hashes = Array.from({ length: this.#rng.between(1, 2) }, (_, index) => `${this.#count} ${index}`);
    return { do: "append", run: "run", position: this.journal.length, epoch, hashes, flush: "hard" };
  }

  /** Executes one pending request. */
  #execute(): void {
    const waiting = this.#pending.filter(({ answer }) => answer === null);
    const call = waiting[this.#rng.below(Math.max(1, waiting.length))];
    if (call === undefined) return;
    call.answer = call.request.do === "append" ? this.#append(call.request) : this.#claim(call.by);
  }

  #append({ position, epoch, hashes }: Extract<StoreRequest, { do: "append" }>): StoreReply {
    if (epoch !== this.#epoch && this.#bug !== "no epoch condition") return { landed: false, why: "epoch" };
    if (position !== this.journal.length)
      return { landed: false, why: "position", position: this.journal.length, hash: this.journal[position] ?? null };
    if (this.#bug === "a lost append" && this.#rng.below(10) === 0) return { landed: true };
    this.journal.push(...hashes);
    if (this.#bug === "a refusal that lands" && this.#rng.below(10) === 0) return { landed: false, why: "row" };
    return { landed: true };
  }

  #claim(by: string): StoreReply {
    if (this.#bug !== "a repeated epoch" || this.#rng.below(10) > 0) this.#epoch += 1;
    this.#epochs.set(by, this.#epoch);
    return { granted: [["run", this.#epoch]] };
  }

  /** Delivers or loses one answer. */
  #deliverAnswer(): void {
    const at = this.#rng.below(Math.max(1, this.#pending.length));
    const call = this.#pending[at];
    if (call?.answer == null) return;
    this.#pending.splice(at, 1);
    const isLost = this.#rng.below(8) === 0;
    if (isLost && call.request.do === "claim") this.#epochs.delete(call.by); // The worker does not know its epoch.
    if (isLost) this.lines.push({ id: call.id, reply: { fault: "STORE_UNKNOWN" } });
    else this.lines.push({ id: call.id, reply: call.answer });
  }
}
