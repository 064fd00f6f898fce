import type { Landing } from "../src/core/store.ts";

/**
 * What was asked of the store and what it answered, by all processes, in one file to which each adds a line before it asks and
 * one when it has heard. The order of the lines is the order in which someone outside would have seen them.
 */
export type Line =
  | { readonly id: string; readonly by: string; readonly asked: Question }
  | { readonly id: string; readonly heard: Answer }
  /** The server was stopped without being asked, or has come back. What was not synced may be gone. */
  | { readonly server: "dies" | "is back" };

/** A run and an epoch of it. */
export type Right = readonly [run: string, epoch: number];

export type Question =
  | {
      readonly do: "append";
      readonly run: string;
      readonly position: number;
      /** Null: from outside. */
      readonly epoch: number | null;
      /** Of the events, in order. */
      readonly hashes: readonly string[];
      readonly flush: "hard" | "soft";
    }
  /** Null: whatever is due. */
  | { readonly do: "claim"; readonly run: string | null }
  | { readonly do: "renew"; readonly rights: readonly Right[] }
  | { readonly do: "release"; readonly right: Right }
  | { readonly do: "mark"; readonly right: Right; readonly step: string; readonly attempt: number };

export type Answer =
  | { readonly landed: true }
  | {
      readonly landed: false;
      readonly why: Exclude<Landing, { landed: true }>["why"];
      /** Where the run is, and the event that stands where this one was to stand. */
      readonly position?: number;
      readonly hash?: string | null;
    }
  | { readonly given: readonly Right[] }
  | { readonly kept: readonly Right[] }
  | { readonly marked: boolean }
  | { readonly done: true }
  /** A fault code. */
  | { readonly fault: string };

/** One question with its answer, if one was heard. Times are places in the history. */
export interface Call<Asked extends Question = Question> {
  readonly by: string;
  readonly asked: Asked;
  readonly heard: Answer | null;
  readonly from: number;
  readonly to: number;
}

export type Appending = Call<Extract<Question, { do: "append" }>>;
export type Claiming = Call<Extract<Question, { do: "claim" }>>;
export type Renewing = Call<Extract<Question, { do: "renew" }>>;
export type Marking = Call<Extract<Question, { do: "mark" }>>;

/** From when to when the server was away. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

export interface History {
  readonly calls: readonly Call[];
  readonly outages: readonly Outage[];
}

/** Puts answers to their questions. A question without an answer is never over. */
export function historyOf(lines: readonly Line[]): History {
  const answers = new Map<string, { readonly heard: Answer; readonly to: number }>();
  lines.forEach((line, to) => {
    if ("heard" in line) answers.set(line.id, { heard: line.heard, to });
  });
  const calls: Call[] = [];
  const outages: Outage[] = [];
  let died: number | null = null;
  lines.forEach((line, from) => {
    if ("asked" in line) {
      const { heard, to } = answers.get(line.id) ?? { heard: null, to: Number.POSITIVE_INFINITY };
      calls.push({ by: line.by, asked: line.asked, heard, from, to });
    }
    if (!("server" in line)) return;
    if (line.server === "dies") died ??= from;
    else if (died !== null) {
      outages.push({ from: died, to: from });
      died = null;
    }
  });
  if (died !== null) outages.push({ from: died, to: Number.POSITIVE_INFINITY });
  return { calls, outages };
}

/** The lines in a file; one that a kill cut short was never said. */
export function linesIn<Value>(text: string): readonly Value[] {
  return text
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as Value);
}

export function appendsIn({ calls }: History): readonly Appending[] {
  return calls.filter((call): call is Appending => call.asked.do === "append");
}

export function claimsIn({ calls }: History): readonly Claiming[] {
  return calls.filter((call): call is Claiming => call.asked.do === "claim");
}

/** What was given by a claim. */
export function givenBy({ heard }: Claiming): readonly Right[] {
  return heard !== null && "given" in heard ? heard.given : [];
}
