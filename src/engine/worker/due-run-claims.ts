import type { Claim } from "../../core/store/store.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import type { Instant, RunId } from "../../core/values/ids.ts";
import { isRetentionJournal, isScheduleJournal } from "../journal/journal-names.ts";
import { LeaseHeartbeat } from "./lease-heartbeat.ts";
import type { LeasedRuns } from "./leased-runs.ts";
import { OutdatedRowRewriter } from "./outdated-row-rewriter.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** The number of sweeps after which the store is asked again when the next run is due. */
const SWEEPS_PER_LOOK = 10;

/** The number of runs that one claim of a sweep takes. */
const CLAIMS_PER_SWEEP_MAX = 100;

/** A clock that differs this much more from the stopwatch was set, or the machine was suspended. */
const CLOCK_JUMP_MS = 1000;

/** Does the work of a claimed journal that is not of a run: a schedule, or the retentions of a tenant. */
interface JournalTrigger {
  fire(claim: Claim): Promise<void> | void;
}

/** The triggers of the claimed journals that are not of runs. */
interface JournalTriggers {
  readonly schedules: JournalTrigger;
  readonly retentions: JournalTrigger;
}

/** Claims due runs: at the start, on a notification, when a timer fires, and on every sweep. */
export class DueRunClaims {
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;
  readonly #heartbeat: LeaseHeartbeat;
  readonly #outdated: OutdatedRowRewriter;
  readonly #triggers: JournalTriggers;
  readonly #unwatch: (() => void)[] = [];
  #sweeping: Promise<void> | null = null;
  #sweepAgain = false;
  #stopped = false;
  #sweepAt = Number.POSITIVE_INFINITY;
  /** When the next run is due as far as is known, and how many more sweeps rely on that. */
  #nextDue: Instant | null = null;
  #sweepsUntilLook = 0;
  /** The difference between the clock and the stopwatch at the last sweep. */
  #clockOffset: number;
  #disarm: () => void = () => {};

  constructor(ports: WorkerPorts, leasedRuns: LeasedRuns, triggers: JournalTriggers) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
    this.#heartbeat = new LeaseHeartbeat(ports, leasedRuns);
    this.#outdated = new OutdatedRowRewriter(ports);
    this.#clockOffset = ports.clock.now() - ports.stopwatch();
    this.#triggers = triggers;
    leasedRuns.onWorkAvailable(() => void this.sweep());
    leasedRuns.onRest((until) => this.#sweepBy(until));
  }

  async start(): Promise<void> {
    this.#unwatch.push(
      this.#ports.store.watch(
        () => this.#onNotification(),
        () => this.#leasedRuns.isAwaited,
      ),
    );
    if (this.#leasedRuns.works) this.#heartbeat.start();
    await this.sweep();
  }

  #onNotification(): void {
    this.#sweepsUntilLook = 0;
    void this.sweep();
  }

  /** Stops claiming. Leases are renewed until `end`. */
  stop(): Promise<void> {
    this.#stopped = true;
    this.#disarm();
    for (const stop of this.#unwatch.splice(0)) stop();
    return this.#sweeping ?? Promise.resolve();
  }

  end(): void {
    this.#heartbeat.stop();
  }

  sweep(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#sweepAgain = true;
    this.#sweeping ??= this.#sweepAll().finally(() => {
      this.#sweeping = null;
    });
    return this.#sweeping;
  }

  /** Sweeps again if a notification arrived during a sweep. */
  async #sweepAll(): Promise<void> {
    while (this.#sweepAgain && !this.#stopped) {
      this.#sweepAgain = false;
      await this.#sweepOnce();
    }
  }

  async #sweepOnce(): Promise<void> {
    this.#disarm();
    this.#noticeJump();
    try {
      // Before claiming: a claim would fence a lease that expired here.
      if (this.#leasedRuns.works) await this.#heartbeat.renewIfDue();
      await this.#leasedRuns.refresh();
      if (this.#leasedRuns.works) await this.#claim();
      if (this.#leasedRuns.works) await this.#outdated.refoldSome();
    } catch {
      // The store is unavailable. The next sweep tries again; callers get the fault from their own calls.
    }
    if (!this.#stopped) this.#arm(await this.#pause());
  }

  /** A timer measures a duration, so it does not notice that the clock is set. */
  #noticeJump(): void {
    const { clock, stopwatch } = this.#ports;
    const offset = clock.now() - stopwatch();
    if (Math.abs(offset - this.#clockOffset) > CLOCK_JUMP_MS) this.#leasedRuns.resetAlarms();
    this.#clockOffset = offset;
  }

  #arm(ms: number): void {
    this.#disarm();
    this.#sweepAt = this.#ports.clock.now() + ms;
    this.#disarm = this.#ports.loopTimers.after(ms, () => void this.sweep());
  }

  /** Schedules an earlier sweep if a run that came to rest is due before the next one. */
  #sweepBy(until: Instant): void {
    const now = this.#ports.clock.now();
    if (until > now && (this.#nextDue === null || until < this.#nextDue)) this.#nextDue = until;
    if (until > now && until < this.#sweepAt && this.#sweeping === null && !this.#stopped) this.#arm(until - now);
  }

  /** Claims one batch of due runs; claims more only while none of a batch had anything to do. */
  async #claim(): Promise<void> {
    for (;;) {
      const claims = await this.#ports.leases.claimDue(CLAIMS_PER_SWEEP_MAX);
      if (claims.length > 0) this.#sweepsUntilLook = 0;
      const others = claims.filter(({ run }) => this.#triggerOf(run) !== null);
      const taken = await this.#leasedRuns.takeClaimed(claims.filter((claim) => !others.includes(claim)));
      for (const claim of others) await this.#triggerOf(claim.run)?.fire(claim);
      if (taken || claims.length < CLAIMS_PER_SWEEP_MAX) return;
    }
  }

  #triggerOf(journal: RunId): JournalTrigger | null {
    if (isScheduleJournal(journal)) return this.#triggers.schedules;
    return isRetentionJournal(journal) ? this.#triggers.retentions : null;
  }

  async #pause(): Promise<number> {
    if (this.#leasedRuns.works) await this.#look();
    const untilDue = this.#nextDue === null ? waitTimes.sweepMs : Math.max(1, this.#nextDue - this.#ports.clock.now());
    return Math.min(waitTimes.sweepMs * (0.75 + this.#ports.dice() / 2), untilDue);
  }

  /** Asks the store when the next run is due. Rarely needed: this worker knows its own timers, and others notify it. */
  async #look(): Promise<void> {
    const isPast = this.#nextDue !== null && this.#nextDue <= this.#ports.clock.now();
    this.#sweepsUntilLook -= 1;
    if (this.#sweepsUntilLook >= 0 && !isPast) return;
    this.#nextDue = await this.#ports.store.nextDue().catch(() => null);
    this.#sweepsUntilLook = SWEEPS_PER_LOOK;
  }
}
