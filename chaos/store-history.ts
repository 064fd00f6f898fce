import type { AppendResult } from "../src/core/store/store.ts";

/**
 * A line of the shared history: a request to the store, written before it is sent, or an answer, written before it is
 * used. The order of the lines is the order that an outside observer sees.
 */
export type HistoryLine =
  | { readonly id: string; readonly by: string; readonly request: StoreRequest }
  | { readonly id: string; readonly reply: StoreReply }
  /** The server failed or is up again. Unsynced data may be lost. */
  | { readonly server: "dies" | "is back" }
  /** A fault of one worker, written before it happens. `ends`: it is asked to end. */
  | { readonly worker: string; readonly fault: "is killed" | "is stopped" | "continues" | "ends" };

/** A run and an epoch of it. */
export type RunEpoch = readonly [run: string, epoch: number];

export type StoreRequest =
  | {
      readonly do: "append";
      readonly run: string;
      readonly position: number;
      /** Null: an append without an epoch condition. */
      readonly epoch: number | null;
      /** The hashes of the events, in order. */
      readonly hashes: readonly string[];
      readonly flush: "hard" | "soft";
    }
  /** Null: any due run. */
  | { readonly do: "claim"; readonly run: string | null }
  | { readonly do: "renew"; readonly claims: readonly RunEpoch[] }
  | { readonly do: "release"; readonly claim: RunEpoch }
  | { readonly do: "mark"; readonly claim: RunEpoch; readonly step: string; readonly attempt: number };

export type StoreReply =
  | { readonly landed: true }
  | {
      readonly landed: false;
      readonly why: Exclude<AppendResult, { landed: true }>["why"];
      /** The position of the run, and the hash of the event at the requested position. */
      readonly position?: number;
      readonly hash?: string | null;
    }
  | { readonly granted: readonly RunEpoch[] }
  | { readonly renewed: readonly RunEpoch[] }
  | { readonly marked: boolean }
  | { readonly done: true }
  /** A fault code. */
  | { readonly fault: string };

/** A request with its answer, or null. Times are line numbers of the history. */
export interface RecordedCall<Asked extends StoreRequest = StoreRequest> {
  readonly by: string;
  readonly request: Asked;
  readonly reply: StoreReply | null;
  readonly from: number;
  readonly to: number;
}

export type AppendCall = RecordedCall<Extract<StoreRequest, { do: "append" }>>;
export type ClaimCall = RecordedCall<Extract<StoreRequest, { do: "claim" }>>;
export type RenewCall = RecordedCall<Extract<StoreRequest, { do: "renew" }>>;
export type MarkCall = RecordedCall<Extract<StoreRequest, { do: "mark" }>>;

/** The period in which the server was down. */
export interface ServerOutage {
  readonly from: number;
  readonly to: number;
}

/** A period in which a worker does not run, or a time from which it is dead. */
interface WorkerOutage {
  readonly by: string;
  readonly from: number;
  readonly to: number;
}

export interface StoreHistory {
  readonly calls: readonly RecordedCall[];
  readonly outages: readonly ServerOutage[];
  readonly workerOutages: readonly WorkerOutage[];
}

/** Joins requests with their answers. A request without an answer has no end. */
export function parseHistory(lines: readonly HistoryLine[]): StoreHistory {
  const answers = new Map<string, { readonly reply: StoreReply; readonly to: number }>();
  lines.forEach((line, to) => {
    if ("reply" in line) answers.set(line.id, { reply: line.reply, to });
  });
  const calls: RecordedCall[] = [];
  const outages: ServerOutage[] = [];
  let died: number | null = null;
  lines.forEach((line, from) => {
    if ("request" in line) {
      const { reply, to } = answers.get(line.id) ?? { reply: null, to: Number.POSITIVE_INFINITY };
      calls.push({ by: line.by, request: line.request, reply, from, to });
    }
    if (!("server" in line)) return;
    if (line.server === "dies") died ??= from;
    else if (died !== null) {
      outages.push({ from: died, to: from });
      died = null;
    }
  });
  if (died !== null) outages.push({ from: died, to: Number.POSITIVE_INFINITY });
  return { calls, outages, workerOutages: parseWorkerOutages(lines) };
}

function parseWorkerOutages(lines: readonly HistoryLine[]): readonly WorkerOutage[] {
  const outages: WorkerOutage[] = [];
  const stoppedAt = new Map<string, number>();
  lines.forEach((line, at) => {
    if (!("worker" in line)) return;
    const { worker: by, fault } = line;
    if (fault === "is stopped") stoppedAt.set(by, at);
    else if (fault !== "continues") outages.push({ by, from: at, to: Number.POSITIVE_INFINITY });
    else outages.push({ by, from: stoppedAt.get(by) ?? at, to: at });
  });
  return outages;
}

/** Parses the lines of a file, without a last line that a kill truncated. */
export function parseJsonLines<Value>(text: string): readonly Value[] {
  return text
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as Value);
}

export function appendCalls({ calls }: StoreHistory): readonly AppendCall[] {
  return calls.filter((call): call is AppendCall => call.request.do === "append");
}

export function claimCalls({ calls }: StoreHistory): readonly ClaimCall[] {
  return calls.filter((call): call is ClaimCall => call.request.do === "claim");
}

/** Returns the epochs that a claim granted. */
export function grantedEpochs({ reply }: ClaimCall): readonly RunEpoch[] {
  return reply !== null && "granted" in reply ? reply.granted : [];
}
