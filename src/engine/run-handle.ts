import type { Principal } from "../core/approval/principal.ts";
import type { Event } from "../core/event/event.ts";
import { missingWorker } from "../core/run/missing-worker.ts";
import { isRunning, type Run } from "../core/run/run.ts";
import { type RunResult, runResult, withRulesElsewhere } from "../core/run/run-result.ts";
import { runTranscript, type TranscriptEntry } from "../core/run/transcript.ts";
import type { RunRow, TimerRow } from "../core/store/tables.ts";
import { assert } from "../core/values/assert.ts";
import type { RunId } from "../core/values/ids.ts";
import { replayRun } from "./admin/replay-run.ts";
import type { RecordedEvent, RunHandle, RunProgress, WaitOptions } from "./api/engine-api.ts";
import type { SessionTurn } from "./api/open-run-api.ts";
import { readReason } from "./api/read-reason.ts";
import type { ReplayedStep } from "./api/replay-api.ts";
import type { StepChange } from "./api/state-api.ts";
import { lastHardPosition } from "./journal/hard-events.ts";
import { GENESIS_HASH, JournalCodec } from "./journal/journal-codec.ts";
import { loadRun } from "./journal/load-run.ts";
import { readOutputBytes } from "./journal/read-output-bytes.ts";
import { eventIds, readTraceIds, traceIdsOf } from "./journal/read-trace-ids.ts";
import type { BlobReference } from "./ports/output-as-plain-data.ts";
import { readEarlierTurns, readTurnsOf } from "./session/session-turns.ts";
import { readStepChanges } from "./state/read-step-changes.ts";
import type { LeasedRuns } from "./worker/leased-runs.ts";
import { waitForResult } from "./worker/wait-for-result.ts";
import type { WorkerPorts } from "./worker/worker-ports.ts";

/** Rejects with the reason of the signal when it aborts, also while the run is busy here. */
function endedBy<Result>(signal: AbortSignal | undefined, work: Promise<Result>): Promise<Result> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** A handle on a run for one principal. */
export class EngineRunHandle implements RunHandle {
  readonly run_id: RunId;
  readonly attached: boolean;
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;
  readonly #principal: Principal;
  /** The run, if it had ended when it was accepted. */
  readonly #ended: Run | null;
  /** True in the turn of the event loop in which the run ended: nothing that happened since can be known here. */
  #hasJustEnded: boolean;

  constructor(
    ports: WorkerPorts,
    leasedRuns: LeasedRuns,
    principal: Principal,
    run: { readonly id: RunId; readonly attached: boolean; readonly ended?: Run | null },
  ) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
    this.#principal = principal;
    this.run_id = run.id;
    this.attached = run.attached;
    this.#ended = run.ended ?? null;
    this.#hasJustEnded = this.#ended !== null;
    if (this.#hasJustEnded)
      ports.endOfTurn(() => {
        this.#hasJustEnded = false;
      });
  }

  result({ signal }: WaitOptions = {}): Promise<RunResult> {
    return this.#ports.keepAlive(endedBy(signal, this.#rested(signal)));
  }

  finished({ signal }: WaitOptions = {}): Promise<RunResult> {
    return this.#ports.keepAlive(endedBy(signal, this.#finished(signal)));
  }

  async #rested(signal: AbortSignal | undefined): Promise<RunResult> {
    const { store } = this.#ports;
    const { tenant } = this.#principal;
    this.#leasedRuns.assertOpen();
    if (this.#ended !== null) {
      const isUnchanged =
        this.#hasJustEnded || (await store.head(tenant, this.run_id))?.position === this.#ended.position;
      if (isUnchanged) return runResult(this.#ended);
    }
    return this.#explain(await waitForResult(this.#ports, this.#leasedRuns, tenant, this.run_id, signal));
  }

  /** Says so if a live worker has the tool of a waiting step and may not execute the run. */
  async #explain<Result extends RunResult>(result: Result): Promise<Result> {
    if (!result.blocked_on.some(({ reason_code }) => reason_code.startsWith("TOOL_"))) return result;
    const { store } = this.#ports;
    const timer = await store.row(this.#principal.tenant, "timer", this.run_id);
    const missing = timer && missingWorker(JSON.parse(timer.row) as TimerRow, await store.workers());
    return missing?.reason_code === "RULES_ELSEWHERE" ? withRulesElsewhere(result, missing) : result;
  }

  async #finished(signal: AbortSignal | undefined): Promise<RunResult> {
    const run = { tenant: this.#principal.tenant, id: this.run_id };
    for (;;) {
      signal?.throwIfAborted();
      const { changed, stop } = this.#leasedRuns.watch({ run, signal });
      try {
        const result = await this.#rested(signal);
        if (result.final) return result;
        await changed;
      } finally {
        stop();
      }
    }
  }

  async now(): Promise<RunProgress> {
    const { tenant } = this.#principal;
    const held = this.#leasedRuns.get(tenant, this.run_id);
    const run = held?.mailbox.storedRun ?? (await loadRun(this.#ports.store, tenant, this.run_id)).run;
    const running = isRunning(run);
    const synced = !running || held?.mailbox.durablePosition === run.position; // Results of a run at rest are on disk.
    const durable = synced && this.#ports.durability !== "process";
    return this.#explain({ ...runResult(run), running, durable });
  }

  async *events({
    after = 0,
    follow = false,
    signal,
  }: {
    after?: number;
    follow?: boolean;
    signal?: AbortSignal;
  } = {}): AsyncIterable<RecordedEvent> {
    const { tenant } = this.#principal;
    const journal = new JournalCodec(tenant, this.run_id);
    let position = after;
    let ids = after === 0 ? null : await readTraceIds(this.#ports.store, tenant, this.run_id);
    let previous =
      (await this.#ports.store.events(tenant, this.run_id, Math.max(0, after - 1), 1))[0]?.hash ?? GENESIS_HASH;
    if (after === 0) previous = GENESIS_HASH;
    for (;;) {
      const run = { tenant, id: this.run_id };
      const progress = follow ? this.#leasedRuns.watch({ run, appends: true, signal }) : null;
      try {
        const { ended, rested, synced } = await this.#reached();
        const news = await this.#ports.store.events(tenant, this.run_id, position);
        journal.assertIntact(news, previous, position);
        const durable = this.#ports.durability === "process" ? 0 : Math.max(synced, lastHardPosition(news, rested));
        for (const stored of news) {
          position = stored.position;
          previous = stored.hash;
          const event = await journal.open<Event>(stored, this.#ports.store);
          ids ??= traceIdsOf(event);
          assert(ids !== null, "the first event of a run accepts it");
          yield { position, ids: eventIds(ids, event), event, durable: position <= durable };
        }
        if (progress === null || ended || signal?.aborted) return;
        await this.#ports.keepAlive(progress.changed);
      } finally {
        progress?.stop();
      }
    }
  }

  async transcript(): Promise<readonly TranscriptEntry[]> {
    const events: Event[] = [];
    for await (const { event } of this.events()) events.push(event);
    return runTranscript(events);
  }

  async changes(): Promise<readonly StepChange[]> {
    const events: Pick<RecordedEvent, "event" | "position">[] = [];
    for await (const { event, position } of this.events()) if ("state" in event) events.push({ event, position });
    return readStepChanges(this.#ports.store, this.#principal.tenant, this.run_id, events);
  }

  async replay(): Promise<readonly ReplayedStep[]> {
    this.#leasedRuns.assertOpen();
    const { run } = await loadRun(this.#ports.store, this.#principal.tenant, this.run_id);
    return this.#ports.keepAlive(replayRun(this.#ports, run, this.events()));
  }

  async turns(): Promise<readonly SessionTurn[]> {
    const ports = this.#ports;
    const { run } = await loadRun(ports.store, this.#principal.tenant, this.run_id);
    // The reader of a run may read all of its events.
    const judge = async (): Promise<null> => null;
    const earlier = await readEarlierTurns(ports, this.#principal, run, judge);
    return [...earlier, ...(await readTurnsOf(ports, run, judge))];
  }

  blob({ blob }: BlobReference): Promise<Uint8Array> {
    return readOutputBytes(this.#ports.store, this.#principal.tenant, this.run_id, blob);
  }

  /** Returns how far the run has come. It is read before the events, so these are at least as recent. */
  async #reached(): Promise<{ readonly ended: boolean; readonly rested: number; readonly synced: number }> {
    const { tenant } = this.#principal;
    const { store, durability } = this.#ports;
    const held = this.#leasedRuns.get(tenant, this.run_id)?.mailbox.durablePosition ?? 0;
    const head = await store.head(tenant, this.run_id);
    const stored = await store.row(tenant, "run", this.run_id);
    const row = stored === null ? null : (JSON.parse(stored.row) as RunRow);
    return {
      ended: row?.final ?? false,
      rested: row === null || ["running", "open"].includes(row.status) ? 0 : (head?.position ?? 0),
      synced: durability === "every" ? Number.POSITIVE_INFINITY : held,
    };
  }

  async cancel(options: { readonly reason?: string } = {}): Promise<void> {
    const reason = readReason(options);
    const principal = this.#principal;
    const cancel = () => ({ type: "cancel", now: this.#ports.clock.now(), principal, reason }) as const;
    await this.#leasedRuns.command(principal.tenant, this.run_id, cancel);
  }
}
