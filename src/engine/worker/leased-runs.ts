import type { Decision } from "../../core/decide/decide.ts";
import type { Run } from "../../core/run/run.ts";
import { nextWakeAt, runDueAt } from "../../core/run/run-wakeups.ts";
import { runTools, workerRequirements } from "../../core/run/worker-requirements.ts";
import type { Claim } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import { type ChildRunPort, noChildRuns } from "../call/child-run-port.ts";
import { isStoreFault } from "../journal/append-errors.ts";
import type { MakeCommand } from "../journal/batch.ts";
import { type LoadedRun, loadRun, newRun } from "../journal/load-run.ts";
import { RunMailbox } from "../journal/run-mailbox.ts";
import { askLeasedRun, type MakeOutsideCommand } from "./ask-leased-run.ts";
import { DoubtTimers } from "./doubt-timers.ts";
import { HandlerSlots } from "./handler-slots.ts";
import { LeasedRun } from "./leased-run.ts";
import type { LeaseEnd } from "./leased-run-owner.ts";
import { ReturnedHandlerReports } from "./returned-handler-reports.ts";
import { RunWatchers } from "./run-watchers.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** A wait for a change of a run, or of any run. */
interface RunWatch {
  readonly run?: Pick<Run, "tenant" | "id">;
  readonly appends?: boolean;
  readonly signal?: AbortSignal | undefined;
}

const REMEMBERED_RUNS_MAX = 10_000;

/** The facts that decide whether an engine may claim a run directly. */
type ClaimableRun = Pick<Run, "queue" | "rules"> & Partial<Pick<Run, "tools">>;

/** The runs that this engine leases. Sends commands to any run, leased here or not. */
export class LeasedRuns {
  readonly #ports: WorkerPorts;
  readonly #slots: HandlerSlots;
  readonly #works: boolean;
  readonly #leased = new Map<string, LeasedRun>();
  /** Claims in progress, so that concurrent callers share one lease. */
  readonly #taking = new Map<string, Promise<LeasedRun | null>>();
  /** Runs that this engine failed to continue. When their lease expires, a worker takes them over, perhaps this one. */
  readonly #failed = new Set<string>();
  /** By open run whose acts are confirmed after a restart, the position at which this process first loaded it. */
  readonly #loadedAt = new Map<string, number>();
  readonly #watchers = new RunWatchers();
  /** Claims that the store failed to release. No worker can claim their runs until the lease expires. */
  readonly #unreleased: Claim[] = [];
  readonly #releasing = new Set<Promise<void>>();
  readonly #returns: ReturnedHandlerReports;
  readonly #doubts: DoubtTimers;
  #onWorkAvailable: () => void = () => {};
  #onRest: (until: Instant) => void = () => {};
  #childRuns: ChildRunPort = noChildRuns;
  #closed = false;

  constructor(ports: WorkerPorts, works: boolean) {
    this.#ports = ports;
    this.#slots = new HandlerSlots(ports.limits.concurrency);
    this.#works = works;
    this.#returns = new ReturnedHandlerReports(ports, (tenant, run, make) =>
      this.command(tenant, run, (_, latest) => make(latest)),
    );
    this.#doubts = new DoubtTimers(ports, (run) => this.takeDueRun(run));
  }

  get works(): boolean {
    return this.#works && !this.#closed;
  }

  /** Sets the callback for when a run may be claimable. */
  onWorkAvailable(callback: () => void): void {
    this.#onWorkAvailable = callback;
  }

  /** Sets the callback for when a run comes to rest until a time. */
  onRest(callback: (until: Instant) => void): void {
    this.#onRest = callback;
  }

  /** Sets how leased runs start child runs and receive their reports. */
  useChildRuns(childRuns: ChildRunPort): void {
    this.#childRuns = childRuns;
  }

  get childRuns(): ChildRunPort {
    return this.#childRuns;
  }

  assertOpen(): void {
    if (this.#closed) throw new FaultError(fault("ENGINE_CLOSED", "the engine is closed; create a new one"));
  }

  get(tenant: Tenant, run: RunId): LeasedRun | undefined {
    return this.#leased.get(leasedRunName(tenant, run));
  }

  all(): readonly LeasedRun[] {
    return [...this.#leased.values()];
  }

  /** Returns the claims whose leases are to be renewed. */
  claims(): readonly Claim[] {
    return this.#held().map(({ claim }) => claim);
  }

  /** Returns the runs whose lease the store has: not those that are being accepted. */
  #held(): readonly LeasedRun[] {
    return this.all().filter(({ claim }) => this.#ports.leases.holds(claim));
  }

  /** Returns whether a run may be claimed directly: not in the fair order, and under the rules of this engine. */
  claimsImmediately(run: ClaimableRun): boolean {
    return (
      this.works && this.#hasRulesOf(run) && this.#hasToolOf(run) && this.#ports.leases.claimsImmediately(run.queue)
    );
  }

  /** Returns false if this engine has no tool of the run. Another worker may have one. */
  #hasToolOf({ tools = {} }: ClaimableRun): boolean {
    const needs = runTools({ tools });
    return needs.length === 0 || needs.some((need) => this.#ports.leases.offers(need));
  }

  #hasRulesOf({ rules }: Pick<Run, "rules">): boolean {
    return rules?.digest === this.#ports.rulesDigest;
  }

  /**
   * Claims a run that is due. If its queue has limits, or it has other rules or tools than this engine, starts a search
   * instead, which claims in the fair order and only if no live worker has the rules and a tool of the run.
   */
  async takeDueRun(run: ClaimableRun & Pick<Run, "tenant" | "id">, loaded?: LoadedRun): Promise<LeasedRun | null> {
    if (this.claimsImmediately(run)) return this.take(run.tenant, run.id, loaded);
    if (this.works && this.#ports.leases.serves(run.queue)) this.#onWorkAvailable();
    return null;
  }

  /** Claims a run and continues it. `loaded`: the run, if it was read before. Null: another worker leases it. */
  take(tenant: Tenant, run: RunId, loaded?: LoadedRun): Promise<LeasedRun | null> {
    const name = leasedRunName(tenant, run);
    const leased = this.#leased.get(name);
    if (leased !== undefined) return Promise.resolve(leased);
    const taking = this.#taking.get(name) ?? this.#claim(name, tenant, run, loaded);
    this.#taking.set(name, taking);
    return taking;
  }

  async #claim(name: string, tenant: Tenant, run: RunId, loaded?: LoadedRun): Promise<LeasedRun | null> {
    try {
      const claim = await this.#ports.leases.claim(tenant, run);
      if (claim === null) return null;
      // After the first epoch, another worker may have appended since the run was read.
      const fold = claim.epoch === 1 ? loaded : undefined;
      const found = fold ?? (await loadRun(this.#ports.store, tenant, run));
      if (this.#hasRulesOf(found.run)) return this.begin(claim, found);
      // A worker with other rules has adopted it meanwhile, and may be live.
      await this.#release(claim);
      this.#onWorkAvailable();
      return null;
    } finally {
      this.#taking.delete(name);
    }
  }

  /** Ends the lease of a claim that the store reports as lost. */
  onLeaseLost(claim: Claim): void {
    const leased = this.get(claim.tenant, claim.run);
    if (leased?.claim === claim) leased.fence();
  }

  /**
   * Accepts a new run and continues it at once: its acceptance, its claim and its first entry share a transaction.
   * Resolves when the store has the run. Returns the run if it has ended; then no lease was needed.
   */
  async accept(tenant: Tenant, id: RunId, make: MakeCommand): Promise<Run | null> {
    const leased = this.#add(this.#ports.leases.presume(tenant, id), newRun(tenant, id));
    const accepting = leased.mailbox.accept(make);
    void leased.begin();
    await accepting;
    this.#ports.failpoint("accept.after");
    this.#ports.failpoint("claim.after");
    const { storedRun } = leased.mailbox;
    if (storedRun.ended !== null) return storedRun;
    if (!this.#ports.leases.holds(leased.claim)) this.#onWorkAvailable(); // Another worker may hold it, or none.
    return null;
  }

  /** Continues a claimed run. */
  begin(claim: Claim, loaded: LoadedRun): LeasedRun | null {
    this.#ports.failpoint("claim.after");
    if (this.#closed) {
      void this.#release(claim);
      return null;
    }
    const other = this.get(claim.tenant, claim.run);
    if (other !== undefined && other.claim.epoch >= claim.epoch) return other;
    other?.fence();
    const leased = this.#add(claim, loaded);
    void leased.begin();
    return leased;
  }

  #add(claim: Claim, loaded: LoadedRun): LeasedRun {
    const name = leasedRunName(claim.tenant, claim.run);
    const leased: LeasedRun = new LeasedRun(this.#ports, this.#slots, loaded, claim, {
      childRuns: this.#childRuns,
      hasFailed: this.#failed.delete(name),
      loadedAt: this.#loadedAt.get(name) ?? loaded.run.position,
      onProgress: () => this.#watchers.onAppend(name),
      onReturn: (act) => this.#returns.add(act),
      onEnd: (end) => this.#onEnd(name, leased, end),
    });
    this.#leased.set(name, leased);
    return leased;
  }

  /** Continues claimed runs. Returns whether there was any to continue. */
  async takeClaimed(claims: readonly Claim[]): Promise<boolean> {
    let taken = 0;
    for (const claim of claims) {
      const name = leasedRunName(claim.tenant, claim.run);
      // A claim in progress is later than this one: the store would have refused it otherwise.
      if (this.#taking.has(name)) continue;
      const taking = this.#loadAndBegin(name, claim);
      this.#taking.set(name, taking);
      try {
        if ((await taking) !== null) taken += 1;
      } catch (error) {
        // A run that cannot be read stays claimed until its lease expires; the others continue.
        if (!(error instanceof FaultError)) throw error;
      }
    }
    return taken > 0;
  }

  async #loadAndBegin(name: string, claim: Claim): Promise<LeasedRun | null> {
    try {
      return this.begin(claim, await loadRun(this.#ports.store, claim.tenant, claim.run));
    } finally {
      this.#taking.delete(name);
    }
  }

  /** Decides a command: in the mailbox of the leased run, or else on the run as it is stored. */
  async command(tenant: Tenant, run: RunId, make: MakeOutsideCommand): Promise<Decision> {
    this.assertOpen();
    const leased = this.get(tenant, run);
    const decision = (leased && (await askLeasedRun(leased, make))) ?? (await this.#askStore(tenant, run, make));
    if (decision.refusal !== null) throw new FaultError(decision.refusal);
    if (leased === undefined && this.#isDue(decision.after)) await this.takeDueRun(decision.after);
    this.#watchers.onChange(leasedRunName(tenant, run));
    return decision;
  }

  async #askStore(tenant: Tenant, run: RunId, make: MakeOutsideCommand): Promise<Decision> {
    const mailbox = new RunMailbox(this.#ports, await loadRun(this.#ports.store, tenant, run), null);
    return mailbox.ask((latest) => make("unknown", latest));
  }

  #isDue(run: Run): boolean {
    const due = runDueAt(run);
    return (due !== null && due <= this.#ports.clock.now()) || this.offersMissing(run);
  }

  /** Returns whether a waiting run needs something that this engine offers, such as a tool. */
  offersMissing(run: Run): boolean {
    return workerRequirements(run).some((need) => this.#ports.leases.offers(need));
  }

  /** True while a caller waits for a change of a run. */
  get isAwaited(): boolean {
    return !this.#watchers.isEmpty;
  }

  /** Resolves when any run may have changed: a lease ended, or another process appended. */
  nextChange(): Promise<void> {
    return this.watch({}).changed;
  }

  /**
   * `changed` resolves when the run, or without one any run, may have changed; with `appends`, also after each append of
   * a leased run. `stop` ends the wait, and so does the signal.
   */
  watch({ run, appends = false, signal }: RunWatch): { readonly changed: Promise<void>; stop(): void } {
    let stop = () => {};
    const changed = new Promise<void>((resolve) => {
      const name = run === undefined ? null : leasedRunName(run.tenant, run.id);
      stop = this.#watchers.watch({ run: name, appends, signal }, resolve);
    });
    return { changed, stop };
  }

  notifyChange(): void {
    this.#watchers.onChange(null);
  }

  /**
   * Reads what other processes appended to leased runs, such as approvals. A run that cannot be read stops no other.
   */
  async refresh(): Promise<void> {
    this.#ports.projects.markAllStale();
    const leased = this.#held();
    const held = leased.length === 0 ? [] : await this.#ports.store.heldRuns(this.claims());
    for (const [index, one] of leased.entries())
      if (Number(held[index]?.position) > one.mailbox.storedRun.position)
        await this.#attempt(
          () => one.mailbox.refresh(),
          (error) => one.fail(error),
        );
    for (const [index, one] of leased.entries()) if (held[index]?.wanted) one.handOver();
    for (const claim of this.#unreleased.splice(0)) void this.#release(claim);
    void this.#returns.send();
    this.notifyChange();
  }

  async #attempt(work: () => Promise<void>, failed: (error: unknown) => void): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isStoreFault(error)) throw error;
      failed(error);
    }
  }

  #onEnd(name: string, leased: LeasedRun, end: LeaseEnd): void {
    if (this.#leased.get(name) === leased) this.#leased.delete(name);
    if (end === "rested") this.#releaseAndSearch(leased);
    if (end === "failed") this.#failed.add(name);
    this.#remember(name, leased);
    const wake = nextWakeAt(leased.run);
    if (wake !== null) this.#onRest(wake);
    if (end === "rested" && this.works) this.#doubts.lookAgain(leased.run);
    this.#watchers.onChange(name);
  }

  /** Remembers a run that this process has known since a position. A run that it forgets is only confirmed again. */
  #remember(name: string, { run, loadedAt }: LeasedRun): void {
    this.#loadedAt.delete(name);
    if (run.ended !== null || !run.confirmations.wanted) return;
    this.#loadedAt.set(name, loadedAt);
    const [oldest] = this.#loadedAt.keys();
    if (this.#loadedAt.size > REMEMBERED_RUNS_MAX && oldest !== undefined) this.#loadedAt.delete(oldest);
  }

  /** Releases the run. With limits, another run may have waited for this one to end. */
  #releaseAndSearch({ claim, run }: LeasedRun): void {
    // Read now: a reaction that holds the run would keep it in memory until the release is committed.
    const limited = !this.claimsImmediately(run);
    void this.#release(claim).then(() => {
      if (this.works && limited) this.#onWorkAvailable();
    });
  }

  #release(claim: Claim): Promise<void> {
    if (!this.#ports.leases.holds(claim)) return Promise.resolve(); // The run ended in the entry that accepted it.
    const releasing = this.#ports.store
      .release(claim)
      .catch(() => void this.#unreleased.push(claim))
      .finally(() => this.#releasing.delete(releasing));
    this.#releasing.add(releasing);
    return releasing;
  }

  /** Resolves when the leases that are being released are released. */
  async releases(): Promise<void> {
    await Promise.all(this.#releasing);
  }

  /** The clock was set. */
  resetAlarms(): void {
    for (const leased of this.#leased.values()) leased.resetAlarms();
  }

  /** Stops claiming, and waits until the calls in flight have ended and all leases are released. */
  async drain(): Promise<void> {
    this.#closed = true;
    this.#doubts.clear();
    this.notifyChange(); // A held request that waits for another run ends its wait, and drains.
    await Promise.allSettled(this.#taking.values());
    await Promise.all(this.all().map((leased) => leased.drain()));
    await this.releases(); // Other workers then need not wait for the leases to expire.
    this.notifyChange();
  }
}

function leasedRunName(tenant: Tenant, run: RunId): string {
  return `${tenant.length}:${tenant}${run}`;
}
