import type { Instant } from "../../core/id.ts";
import type { Ports } from "../ports.ts";
import { isSchedule, type StandingOrders } from "../post/schedules.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { Holds } from "./holds.ts";

/** How often the store is swept though nothing hints at work: notify is a hint, the sweep is the truth. */
const SWEEP_MS = 1300;

/** Every so many sweeps the store is asked when the next run falls due, though nobody has said that this has changed. */
const LOOK_EVERY = 10;

/** How many runs one sweep takes. */
const CLAIM_MOST = 100;

/** Takes up runs when they are due: at the start, on a hint, when a timer falls due, and on every sweep. */
export class DueRuns {
  readonly #ports: Ports;
  readonly #holds: Holds;
  readonly #heartbeat: Heartbeat;
  readonly #schedules: StandingOrders;
  readonly #stops: (() => void)[] = [];
  #sweeping: Promise<void> | null = null;
  #wanted = false;
  #stopped = false;
  #sweepAt = Number.POSITIVE_INFINITY;
  /** When the next run falls due, as far as is known, and for how many sweeps that is believed. */
  #nextDue: Instant | null = null;
  #believed = 0;
  #disarm: () => void = () => {};

  constructor(ports: Ports, holds: Holds, schedules: StandingOrders) {
    this.#ports = ports;
    this.#holds = holds;
    this.#heartbeat = new Heartbeat(ports, holds);
    this.#schedules = schedules;
    holds.onWanted(() => void this.sweep());
    holds.onRest((until) => this.#hurry(until));
  }

  async start(): Promise<void> {
    this.#stops.push(this.#ports.store.watch(() => this.#hinted()));
    if (this.#holds.works) this.#heartbeat.start();
    await this.sweep();
  }

  #hinted(): void {
    this.#believed = 0;
    void this.sweep();
  }

  /** Claims nothing more. What is held is kept until `end`. */
  stop(): Promise<void> {
    this.#stopped = true;
    this.#disarm();
    for (const stop of this.#stops.splice(0)) stop();
    return this.#sweeping ?? Promise.resolve();
  }

  end(): void {
    this.#heartbeat.stop();
  }

  sweep(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#wanted = true;
    this.#sweeping ??= this.#sweepAll().finally(() => {
      this.#sweeping = null;
    });
    return this.#sweeping;
  }

  /** What is hinted at during a sweep may be what it had already passed by. */
  async #sweepAll(): Promise<void> {
    while (this.#wanted && !this.#stopped) {
      this.#wanted = false;
      await this.#sweepOnce();
    }
  }

  async #sweepOnce(): Promise<void> {
    this.#disarm();
    try {
      if (this.#holds.works) await this.#heartbeat.ifDue(); // First: claiming would fence what ran out here.
      await this.#holds.refresh();
      if (this.#holds.works) await this.#claim();
    } catch {
      // The store is away; the next sweep looks again, and whoever needs it now is told by their own call.
    }
    if (!this.#stopped) this.#arm(await this.#pause());
  }

  #arm(ms: number): void {
    this.#disarm();
    this.#sweepAt = this.#ports.clock.now() + ms;
    this.#disarm = this.#ports.timers.after(ms, () => void this.sweep());
  }

  /** A run went to rest that goes on by itself sooner than the next sweep. */
  #hurry(until: Instant): void {
    const now = this.#ports.clock.now();
    if (until > now && (this.#nextDue === null || until < this.#nextDue)) this.#nextDue = until;
    if (until > now && until < this.#sweepAt && this.#sweeping === null && !this.#stopped) this.#arm(until - now);
  }

  /** One batch of what is due; more only while all of it turned out to need nothing. */
  async #claim(): Promise<void> {
    for (;;) {
      const claims = await this.#ports.leases.claimDue(CLAIM_MOST);
      if (claims.length > 0) this.#believed = 0;
      const orders = claims.filter(({ run }) => isSchedule(run));
      const taken = await this.#holds.holdDue(claims.filter((claim) => !orders.includes(claim)));
      for (const order of orders) await this.#schedules.fire(order);
      if (taken || claims.length < CLAIM_MOST) return;
    }
  }

  async #pause(): Promise<number> {
    if (this.#holds.works) await this.#look();
    const untilDue = this.#nextDue === null ? SWEEP_MS : Math.max(1, this.#nextDue - this.#ports.clock.now());
    return Math.min(SWEEP_MS * (0.75 + this.#ports.dice() / 2), untilDue);
  }

  /** Timers that others set are hinted at, and our own are known: the store need not be asked after every sweep. */
  async #look(): Promise<void> {
    const isPast = this.#nextDue !== null && this.#nextDue <= this.#ports.clock.now();
    this.#believed -= 1;
    if (this.#believed >= 0 && !isPast) return;
    this.#nextDue = await this.#ports.store.nextDue().catch(() => null);
    this.#believed = LOOK_EVERY;
  }
}
