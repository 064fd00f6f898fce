import type { Event } from "../core/event.ts";
import type { RunId } from "../core/id.ts";
import type { Principal } from "../core/principal.ts";
import { type RunResult, resultOf } from "../core/result.ts";
import type { RunRow } from "../core/rows.ts";
import { statusOf } from "../core/run.ts";
import { type Exchange, transcriptOf } from "../core/transcript.ts";
import type { RecordedEvent, RunHandle, RunNow } from "./api.ts";
import type { Ports } from "./ports.ts";
import { isName } from "./principal.ts";
import { reasonOf } from "./reason.ts";
import { hardTo } from "./record/flush.ts";
import { GENESIS, Journal } from "./record/journal.ts";
import { load, noRun } from "./record/load.ts";
import type { Holds } from "./watch/holds.ts";

/** A run, as the principal who got hold of it sees it. */
export class Handle implements RunHandle {
  readonly run_id: RunId;
  readonly attached: boolean;
  readonly #ports: Ports;
  readonly #holds: Holds;
  readonly #principal: Principal;

  constructor(
    ports: Ports,
    holds: Holds,
    principal: Principal,
    run: { readonly id: RunId; readonly attached: boolean },
  ) {
    this.#ports = ports;
    this.#holds = holds;
    this.#principal = principal;
    this.run_id = run.id;
    this.attached = run.attached;
  }

  async result(): Promise<RunResult> {
    for (;;) {
      const changed = this.#holds.change();
      const rested = await this.#rested();
      if (rested !== null) return rested;
      await changed;
    }
  }

  async finished(): Promise<RunResult> {
    for (;;) {
      const changed = this.#holds.change();
      const result = await this.result();
      if (result.final) return result;
      await changed;
    }
  }

  async now(): Promise<RunNow> {
    const { tenant } = this.#principal;
    const held = this.#holds.get(tenant, this.run_id);
    const run = held?.run ?? (await load(this.#ports.store, tenant, this.run_id)).run;
    const running = statusOf(run) === "running";
    const synced = !running || held?.mailbox.onDisk === run.position; // What a run at rest has to show is on disk.
    return { ...resultOf(run), running, durable: synced && this.#ports.durability !== "process" };
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
    const journal = new Journal(tenant, this.run_id);
    let position = after;
    let previous = (await this.#ports.store.events(tenant, this.run_id, Math.max(0, after - 1), 1))[0]?.hash ?? GENESIS;
    if (after === 0) previous = GENESIS;
    for (;;) {
      const changed = this.#holds.progress(signal);
      const { ended, rested, synced } = await this.#reached();
      const news = await this.#ports.store.events(tenant, this.run_id, position);
      journal.assertIntact(news, previous, position);
      const durable = this.#ports.durability === "process" ? 0 : Math.max(synced, hardTo(news, rested));
      for (const stored of news) {
        position = stored.position;
        previous = stored.hash;
        yield { position, event: await journal.open(stored, this.#ports.store), durable: position <= durable };
      }
      if (!follow || ended || signal?.aborted) return;
      await changed;
    }
  }

  async transcript(): Promise<readonly Exchange[]> {
    const events: Event[] = [];
    for await (const { event } of this.events()) events.push(event);
    return transcriptOf(events);
  }

  /** How far the run is; read before its events, so that these are at least as far. */
  async #reached(): Promise<{ readonly ended: boolean; readonly rested: number; readonly synced: number }> {
    const { tenant } = this.#principal;
    const { store, durability } = this.#ports;
    const held = this.#holds.get(tenant, this.run_id)?.mailbox.onDisk ?? 0;
    const head = await store.head(tenant, this.run_id);
    const stored = await store.row(tenant, "run", this.run_id);
    const row = stored === null ? null : (JSON.parse(stored.row) as RunRow);
    return {
      ended: row?.final ?? false,
      rested: row === null || row.status === "running" ? 0 : (head?.position ?? 0),
      synced: durability === "every" ? Number.POSITIVE_INFINITY : held,
    };
  }

  async cancel(options: { readonly reason?: string } = {}): Promise<void> {
    const reason = reasonOf(options);
    const principal = this.#principal;
    const cancel = () => ({ type: "cancel", now: this.#ports.clock.now(), principal, reason }) as const;
    await this.#holds.command(principal.tenant, this.run_id, cancel);
  }

  /** The result if the run is at rest now, wherever it is held. */
  async #rested(): Promise<RunResult | null> {
    this.#holds.assertOpen();
    const { tenant } = this.#principal;
    const held = this.#holds.get(tenant, this.run_id);
    if (held !== undefined) return held.rest();
    const { run } = await load(this.#ports.store, tenant, this.run_id);
    if (statusOf(run) !== "running") return resultOf(run);
    if (!this.#holds.claimsAtOnce(run.queue)) return null;
    return (await this.#holds.take(tenant, this.run_id))?.rest() ?? null;
  }
}

export async function assertRun(ports: Ports, { tenant }: Principal, run: RunId): Promise<void> {
  if (!isName(run) || (await ports.store.head(tenant, run)) === null) throw noRun(tenant, run);
}
