import { closeSync, openSync, writeSync } from "node:fs";
import type { AppendResult, Claim, Entry, Store } from "../src/core/store/store.ts";
import { FaultError } from "../src/core/values/fault.ts";
import type { HistoryLine, RunEpoch, StoreReply, StoreRequest } from "./store-history.ts";

/** Appends lines to a file that several processes share. Each line is one write, so a kill loses no written line. */
export class LineAppender {
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

/** Returns a store that records each request before it sends it, and each answer before the caller receives it. */
export function recordStore(store: Store, appender: LineAppender, by: string): Store {
  const recordCall = makeCallRecorder(appender, by);
  return {
    ...store,
    // A getter, because the boot of the wrapped store changes.
    get boot() {
      return store.boot;
    },
    append: (entries) =>
      recordCall(
        entries.map(toStoreRequest),
        () => store.append(entries),
        (landings) => landings.map(toStoreReply),
      ),
    claim: (...args) =>
      recordCall(
        [{ do: "claim", run: args[2] }],
        () => store.claim(...args),
        (claim) => [{ granted: claim === null ? [] : [toRunEpoch(claim)] }],
      ),
    claimDue: (...args) =>
      recordCall(
        [{ do: "claim", run: null }],
        () => store.claimDue(...args),
        (claims) => [{ granted: claims.map(toRunEpoch) }],
      ),
    renew: (worker, claims) =>
      recordCall(
        [{ do: "renew", claims: claims.map(toRunEpoch) }],
        () => store.renew(worker, claims),
        (lost) => [{ renewed: claims.filter((claim) => !lost.includes(claim)).map(toRunEpoch) }],
      ),
    release: (claim) =>
      recordCall(
        [{ do: "release", claim: toRunEpoch(claim) }],
        () => store.release(claim),
        () => [{ done: true }],
      ),
    mark: (claim, step, attempt) =>
      recordCall(
        [{ do: "mark", claim: toRunEpoch(claim), step, attempt }],
        () => store.mark(claim, step, attempt),
        (marked) => [{ marked }],
      ),
  };
}

/** Returns a function that records the requests of a call before it is made, and the replies before they are returned. */
function makeCallRecorder(appender: LineAppender, by: string) {
  let count = 0;
  const recordRequest = (request: StoreRequest): ((reply: StoreReply) => void) => {
    count += 1;
    const id = `${by}.${count}`;
    appender.write({ id, by, request } satisfies HistoryLine);
    return (reply) => appender.write({ id, reply } satisfies HistoryLine);
  };
  return async <Result>(
    request: readonly StoreRequest[],
    work: () => Promise<Result>,
    repliesOf: (result: Result) => readonly StoreReply[],
  ): Promise<Result> => {
    const recordReplies = request.map(recordRequest);
    try {
      const result = await work();
      for (const [index, reply] of repliesOf(result).entries()) recordReplies[index]?.(reply);
      return result;
    } catch (error) {
      for (const recordReply of recordReplies)
        recordReply({ fault: error instanceof FaultError ? error.fault.code : String(error) });
      throw error;
    }
  };
}

function toRunEpoch({ run, epoch }: Claim): RunEpoch {
  return [run, epoch];
}

function toStoreRequest({ run, expect, events, flush }: Entry): StoreRequest {
  const hashes = events.map(({ hash }) => shortHash(hash));
  return { do: "append", run, position: expect.position, epoch: expect.epoch, hashes, flush };
}

function toStoreReply(landing: AppendResult): StoreReply {
  if (landing.landed) return { landed: true };
  if (landing.why !== "position") return { landed: false, why: landing.why };
  const { why, position, hash } = landing;
  return { landed: false, why, position, hash: hash === null ? null : shortHash(hash) };
}

/** Shortens a hash; the prefix is still unique. */
export function shortHash(hash: Uint8Array): string {
  return Buffer.from(hash).toString("hex").slice(0, 20);
}
