import { closeSync, openSync, writeSync } from "node:fs";
import { FaultError } from "../src/core/fault.ts";
import type { Claim, Entry, Landing, Store } from "../src/core/store.ts";
import type { Answer, Line, Question, Right } from "./history.ts";

/** Adds lines to a file that others add to as well, each whole and at once: a kill loses none that was written. */
export class Pen {
  readonly #file: number;

  constructor(file: string) {
    this.#file = openSync(file, "a");
  }

  write(line: object): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** A store that notes what is asked of it before it is asked, and what it answered before anyone hears of it. */
export function recorded(store: Store, pen: Pen, by: string): Store {
  let count = 0;
  const ask = (asked: Question): ((heard: Answer) => void) => {
    count += 1;
    const id = `${by}.${count}`;
    pen.write({ id, by, asked } satisfies Line);
    return (heard) => pen.write({ id, heard } satisfies Line);
  };
  const around = async <Result>(
    asked: readonly Question[],
    work: () => Promise<Result>,
    told: (result: Result) => readonly Answer[],
  ): Promise<Result> => {
    const hears = asked.map(ask);
    try {
      const result = await work();
      for (const [index, heard] of told(result).entries()) hears[index]?.(heard);
      return result;
    } catch (error) {
      for (const hear of hears) hear({ fault: error instanceof FaultError ? error.fault.code : String(error) });
      throw error;
    }
  };
  return {
    ...store,
    // A copy would stay what it was when it was made.
    get boot() {
      return store.boot;
    },
    append: (entries) =>
      around(
        entries.map(questionOf),
        () => store.append(entries),
        (landings) => landings.map(answerOf),
      ),
    claim: (...given) =>
      around(
        [{ do: "claim", run: given[2] }],
        () => store.claim(...given),
        (claim) => [{ given: claim === null ? [] : [rightOf(claim)] }],
      ),
    claimDue: (...given) =>
      around(
        [{ do: "claim", run: null }],
        () => store.claimDue(...given),
        (claims) => [{ given: claims.map(rightOf) }],
      ),
    renew: (claims) =>
      around(
        [{ do: "renew", rights: claims.map(rightOf) }],
        () => store.renew(claims),
        (lost) => [{ kept: claims.filter((claim) => !lost.includes(claim)).map(rightOf) }],
      ),
    release: (claim) =>
      around(
        [{ do: "release", right: rightOf(claim) }],
        () => store.release(claim),
        () => [{ done: true }],
      ),
    mark: (claim, step, attempt) =>
      around(
        [{ do: "mark", right: rightOf(claim), step, attempt }],
        () => store.mark(claim, step, attempt),
        (marked) => [{ marked }],
      ),
  };
}

function rightOf({ run, epoch }: Claim): Right {
  return [run, epoch];
}

function questionOf({ run, expect, events, flush }: Entry): Question {
  const hashes = events.map(({ hash }) => hex(hash));
  return { do: "append", run, position: expect.position, epoch: expect.epoch, hashes, flush };
}

function answerOf(landing: Landing): Answer {
  if (landing.landed) return { landed: true };
  if (landing.why !== "position") return { landed: false, why: landing.why };
  const { why, position, hash } = landing;
  return { landed: false, why, position, hash: hash === null ? null : hex(hash) };
}

/** Enough of a hash to tell it from all others. */
export function hex(hash: Uint8Array): string {
  return Buffer.from(hash).toString("hex").slice(0, 20);
}
