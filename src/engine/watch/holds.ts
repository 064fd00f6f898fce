import type { Command } from "../../core/command.ts";
import type { Decision } from "../../core/decide.ts";
import type { InFlight } from "../../core/event.ts";
import { FaultError, fault } from "../../core/fault.ts";
import type { Instant, RunId, Tenant } from "../../core/id.ts";
import { needsOf } from "../../core/need.ts";
import { dueAt, nextWake, type Run } from "../../core/run.ts";
import type { Claim } from "../../core/store.ts";
import type { Ports } from "../ports.ts";
import { load } from "../record/load.ts";
import { Fenced, isStoreFault, type Loaded, Mailbox } from "../record/mailbox.ts";
import { alone, type Kin } from "../road/kin.ts";
import { HeldRun, type HoldEnd } from "./held-run.ts";
import { Slots } from "./slots.ts";

/** Makes a command for the run as it is, with what is in flight as far as can be told here. */
type Make = (inFlight: InFlight, run: Run) => Command;

/** The runs that this engine holds, and the way in for commands from outside, whether it holds the run or not. */
export class Holds {
  readonly #ports: Ports;
  readonly #slots: Slots;
  readonly #works: boolean;
  readonly #held = new Map<string, HeldRun>();
  /** Claims under way, so that two takers of one run share one hold. */
  readonly #taking = new Map<string, Promise<HeldRun | null>>();
  /** Runs that this engine could not go on with. Their lease runs out, and then someone takes them, maybe this one again. */
  readonly #failed = new Set<string>();
  readonly #watchers = new Set<() => void>();
  readonly #followers = new Set<() => void>();
  /** Claims that the store could not take back: as long as their lease lasts, nobody is given their runs. */
  readonly #unreleased: Claim[] = [];
  readonly #releasing = new Set<Promise<void>>();
  #wanted: () => void = () => {};
  #rested: (until: Instant) => void = () => {};
  #kin: Kin = alone;
  #closed = false;

  constructor(ports: Ports, works: boolean) {
    this.#ports = ports;
    this.#slots = new Slots(ports.limits.concurrency);
    this.#works = works;
  }

  get works(): boolean {
    return this.#works && !this.#closed;
  }

  /** Calls back when there may be something to claim. */
  onWanted(wanted: () => void): void {
    this.#wanted = wanted;
  }

  /** Calls back when a run goes to rest until its time comes. */
  onRest(rested: (until: Instant) => void): void {
    this.#rested = rested;
  }

  /** From now on runs ask for others, and hear of them. */
  join(kin: Kin): void {
    this.#kin = kin;
  }

  assertOpen(): void {
    if (this.#closed) throw new FaultError(fault("ENGINE_CLOSED", "the engine was closed; make a new one"));
  }

  get(tenant: Tenant, run: RunId): HeldRun | undefined {
    return this.#held.get(nameOf(tenant, run));
  }

  all(): readonly HeldRun[] {
    return [...this.#held.values()];
  }

  /** Every claim to be kept alive. */
  claims(): readonly Claim[] {
    return this.all().map(({ claim }) => claim);
  }

  /** Whether a run of this queue is claimed at once, and not in turn. */
  claimsAtOnce(queue: string): boolean {
    return this.works && this.#ports.leases.takesAtOnce(queue);
  }

  /** A run has something to do now: it is claimed, or, where that is not for us to say, those whose turn it is are. */
  async fellDue(tenant: Tenant, run: RunId, queue: string, loaded?: Loaded): Promise<HeldRun | null> {
    if (this.claimsAtOnce(queue)) return this.take(tenant, run, loaded);
    if (this.works && this.#ports.leases.serves(queue)) this.#wanted();
    return null;
  }

  /** Claims a run and takes it up, from its fold if that is in hand; null if another worker holds it. */
  take(tenant: Tenant, run: RunId, loaded?: Loaded): Promise<HeldRun | null> {
    const name = nameOf(tenant, run);
    const held = this.#held.get(name);
    if (held !== undefined) return Promise.resolve(held);
    const taking = this.#taking.get(name) ?? this.#claim(name, tenant, run, loaded);
    this.#taking.set(name, taking);
    return taking;
  }

  async #claim(name: string, tenant: Tenant, run: RunId, loaded?: Loaded): Promise<HeldRun | null> {
    try {
      const claim = await this.#ports.leases.claim(tenant, run);
      if (claim === null) return null;
      // What was loaded before may have been overtaken by whoever held the run meanwhile.
      const fold = claim.epoch === 1 ? loaded : undefined;
      return this.hold(claim, fold ?? (await load(this.#ports.store, tenant, run)));
    } finally {
      this.#taking.delete(name);
    }
  }

  /** Another worker has the run, as the store says. */
  lost(claim: Claim): void {
    const held = this.get(claim.tenant, claim.run);
    if (held?.claim === claim) held.fence();
  }

  /** A run was claimed that nobody takes up. */
  giveBack(claim: Claim): void {
    void this.#release(claim);
  }

  /** Takes up a run whose claim is in hand. */
  hold(claim: Claim, loaded: Loaded): HeldRun | null {
    this.#ports.failpoint("claim.after");
    if (this.#closed) {
      void this.#release(claim);
      return null;
    }
    const name = nameOf(claim.tenant, claim.run);
    const other = this.#held.get(name);
    if (other !== undefined && other.claim.epoch >= claim.epoch) return other;
    other?.fence();
    const held: HeldRun = new HeldRun(this.#ports, this.#slots, loaded, claim, {
      kin: this.#kin,
      hasFailed: this.#failed.delete(name),
      progressed: () => this.#progressed(),
      over: (end) => this.#over(name, held, end),
    });
    this.#held.set(name, held);
    void held.begin();
    return held;
  }

  /** Takes up runs that fell due. Answers whether there was anything to do. */
  async holdDue(claims: readonly Claim[]): Promise<boolean> {
    let taken = 0;
    for (const claim of claims) {
      const name = nameOf(claim.tenant, claim.run);
      // A claim under way is a later one than this, or it would not have been given; what is held was claimed before this.
      if (this.#taking.has(name)) continue;
      const taking = this.#holdLoaded(name, claim);
      this.#taking.set(name, taking);
      try {
        if ((await taking) !== null) taken += 1;
      } catch (error) {
        // A run that cannot be read stays claimed until its lease runs out; the others go on.
        if (!(error instanceof FaultError)) throw error;
      }
    }
    return taken > 0;
  }

  async #holdLoaded(name: string, claim: Claim): Promise<HeldRun | null> {
    try {
      return this.hold(claim, await load(this.#ports.store, claim.tenant, claim.run));
    } finally {
      this.#taking.delete(name);
    }
  }

  /** A command from outside: through the mailbox where the run is held, else straight to the store. */
  async command(tenant: Tenant, run: RunId, make: Make): Promise<Decision> {
    this.assertOpen();
    const held = this.get(tenant, run);
    const decision = (held && (await askHeld(held, make))) ?? (await this.#askStore(tenant, run, make));
    if (decision.refusal !== null) throw new FaultError(decision.refusal);
    if (held === undefined && this.#isDue(decision.after)) await this.fellDue(tenant, run, decision.after.queue);
    this.changed();
    return decision;
  }

  async #askStore(tenant: Tenant, run: RunId, make: Make): Promise<Decision> {
    const mailbox = new Mailbox(this.#ports, await load(this.#ports.store, tenant, run), null);
    return mailbox.ask(make("unknown", mailbox.run));
  }

  #isDue(run: Run): boolean {
    const due = dueAt(run);
    return (
      (due !== null && due <= this.#ports.clock.now()) || needsOf(run).some((need) => this.#ports.leases.has(need))
    );
  }

  /** Resolves when something may have changed: a hold ended, or another process wrote. */
  change(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#watchers.delete(done);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      this.#watchers.add(done);
      signal?.addEventListener("abort", done, { once: true });
    });
  }

  /** Like `change`, and also when a run held here has taken one more step. */
  progress(signal?: AbortSignal): Promise<void> {
    const changed = this.change(signal);
    return Promise.race([changed, new Promise<void>((resolve) => this.#followers.add(resolve))]);
  }

  #progressed(): void {
    for (const follower of this.#followers) follower();
    this.#followers.clear();
  }

  changed(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** Others have written: whoever is held may have been cancelled or approved. One that cannot be read stops no other. */
  async refresh(): Promise<void> {
    this.#ports.projects.doubtAll();
    const held = this.all();
    const positions = held.length === 0 ? [] : await this.#ports.store.positions(this.claims());
    for (const [index, one] of held.entries())
      if (Number(positions[index]) > one.run.position)
        await this.#attempt(
          () => one.mailbox.refresh(),
          (error) => one.fail(error),
        );
    for (const claim of this.#unreleased.splice(0)) void this.#release(claim);
    this.changed();
  }

  async #attempt(work: () => Promise<void>, failed: (error: unknown) => void): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isStoreFault(error)) throw error;
      failed(error);
    }
  }

  #over(name: string, held: HeldRun, end: HoldEnd): void {
    if (this.#held.get(name) === held) this.#held.delete(name);
    if (end === "rested") this.#makeRoom(held);
    if (end === "failed") this.#failed.add(name);
    const wake = nextWake(held.run);
    if (wake !== null) this.#rested(wake);
    this.changed();
  }

  /** Where there are limits, somebody may have waited for this one to go. */
  #makeRoom({ claim, run: { queue } }: HeldRun): void {
    void this.#release(claim).then(() => {
      if (this.works && !this.claimsAtOnce(queue)) this.#wanted();
    });
  }

  #release(claim: Claim): Promise<void> {
    const releasing = this.#ports.store
      .release(claim)
      .catch(() => void this.#unreleased.push(claim))
      .finally(() => this.#releasing.delete(releasing));
    this.#releasing.add(releasing);
    return releasing;
  }

  /** Stops taking runs, and waits until those held have come to rest or to the end of what is in flight. */
  async drain(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#taking.values());
    await Promise.all(this.all().map((held) => held.drain()));
    await Promise.all(this.#releasing); // Whoever comes next need not wait for our leases to run out.
    this.changed();
  }
}

/**
 * Null: the run is not held here any more, as turns out now. A decision that appends nothing does not turn that out, so
 * the store is asked whether there is really nothing to do.
 */
async function askHeld(held: HeldRun, make: Make): Promise<Decision | null> {
  try {
    const decision = await held.mailbox.ask(make(held.inFlight(), held.run));
    return decision.events.length > 0 ? decision : null;
  } catch (error) {
    if (!(error instanceof Fenced)) throw error;
    held.fence();
    return null;
  }
}

function nameOf(tenant: Tenant, run: RunId): string {
  return `${tenant.length}:${tenant}${run}`;
}
