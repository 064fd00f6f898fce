import type { HistoryLine, StoreReply, StoreRequest } from "../../chaos/store-history.ts";

/** A call with its lines in the history. */
export interface CallLines {
  readonly requestLine: HistoryLine;
  readonly replyLine: HistoryLine;
}

let count = 0;

export function call(by: string, request: StoreRequest, reply: StoreReply): CallLines {
  count += 1;
  return { requestLine: { id: `${count}`, by, request }, replyLine: { id: `${count}`, reply } };
}

/** Returns the lines of sequential calls. */
export function linesOf(...calls: readonly (CallLines | HistoryLine)[]): readonly HistoryLine[] {
  return calls.flatMap((each) => ("requestLine" in each ? [each.requestLine, each.replyLine] : [each]));
}

export const landed = { landed: true } as const;
const fenced = { landed: false, why: "epoch" } as const;
export const unknown = { fault: "STORE_UNKNOWN" } as const;

interface AppendDetails {
  readonly at: number;
  readonly epoch: number | null;
  readonly events: readonly string[];
  readonly flush?: "hard" | "soft";
}

export function append(by: string, { at, epoch, events, flush = "hard" }: AppendDetails, reply: StoreReply): CallLines {
  return call(by, { do: "append", run: "run", position: at, epoch, hashes: events, flush }, reply);
}

export function claim(by: string, epoch: number): CallLines {
  return call(by, { do: "claim", run: "run" }, { granted: [["run", epoch]] });
}

export const accepted = append("driver", { at: 0, epoch: null, events: ["a"] }, landed);
export const byAna = claim("ana", 1);
export const byBob = claim("bob", 2);
export const first = append("ana", { at: 1, epoch: 1, events: ["b"] }, landed);
export const late = append("ana", { at: 2, epoch: 1, events: ["x"] }, fenced);
export const lateLanded = append("ana", { at: 2, epoch: 1, events: ["x"] }, landed);
export const journal = ["a", "b", "c", "d"];
