import type { Claim, Entry, Store } from "../core/store/store.ts";
import type { Instant } from "../core/values/ids.ts";
import { line, type SafeLine } from "./safe-line.ts";
import type { TextStyle } from "./text-style.ts";
import { timeText } from "./time-text.ts";

/** One line of the log of a worker. `from` is the worker that did not release the run; `status` is that of an ended run. */
export interface WorkerLogEntry {
  readonly at: Instant;
  readonly event: "claimed" | "taken_over" | "lost" | "parked" | "ended";
  readonly run_id: string;
  readonly tenant: string;
  readonly from?: string;
  readonly status?: string;
}

export function workerLogLine(entry: WorkerLogEntry, style: TextStyle): SafeLine {
  const prefix = line`${timeText(entry.at, style)}`.painted(style.dim);
  return line`${prefix}  ${entry.run_id} of ${entry.tenant} ${logText(entry)}`;
}

function logText({ event, from, status }: WorkerLogEntry): string {
  switch (event) {
    case "claimed":
      return "claimed";
    case "taken_over":
      return `taken over from ${from}, which did not release it`;
    case "lost":
      return "lost: another worker has claimed it";
    case "parked":
      return "parked: several workers in a row lost it";
    case "ended":
      return `ended: ${status}`;
  }
}

/** Wraps a store and reports the runs that its worker claims, takes over, loses and ends. */
export function loggingStore(store: Store, report: (entry: WorkerLogEntry) => void): Store {
  const tell = (event: WorkerLogEntry["event"], { tenant, run }: Pick<Claim, "tenant" | "run">, more = {}) =>
    report({ at: store.clock.now(), event, run_id: run, tenant, ...more });
  return {
    ...store,
    // Read each time: the value changes when the server crashes.
    get boot() {
      return store.boot;
    },
    append: async (entries) => {
      const landings = await store.append(entries);
      for (const [index, { landed }] of landings.entries()) {
        const entry = entries[index];
        if (landed && entry !== undefined) reportEnds(entry, tell);
      }
      return landings;
    },
    claim: async (...given) => {
      const claim = await store.claim(...given);
      if (claim !== null) tell("claimed", claim);
      return claim;
    },
    claimDue: async (...given) => {
      const claims = await store.claimDue(...given);
      for (const claim of claims) tell("claimed", claim);
      return claims;
    },
    renew: async (worker, claims) => {
      const lost = await store.renew(worker, claims);
      for (const claim of lost) tell("lost", claim);
      return lost;
    },
    predecessor: async (claim) => {
      const from = await store.predecessor(claim);
      if (from !== null) tell("taken_over", claim, { from });
      return from;
    },
  };
}

function reportEnds(entry: Entry, tell: (event: "ended" | "parked", entry: Entry, more?: object) => void): void {
  for (const { type, body } of entry.events) {
    if (type === "run.poisoned") tell("parked", entry);
    if (type === "run.ended")
      tell("ended", entry, { status: (JSON.parse(body) as { readonly status: string }).status });
  }
}
