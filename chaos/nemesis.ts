import type { Rng } from "../sim/rng.ts";
import type { Failpoint } from "../src/engine/failpoint.ts";
import type { Cut, Passage } from "../tests/postgres/passage.ts";
import type { Crew } from "./crew.ts";
import type { Pen } from "./recorder.ts";
import { falls, type Server } from "./server.ts";

/** What was done to the workers and the server. */
export interface Blows {
  worker_kills: number;
  zombies: number;
  server_faults: number;
  terminated: number;
  cuts: number;
}

/** How long it takes on average until the next blow of a kind, and how long a stopped worker sleeps at least. */
export interface Rates {
  readonly killMs: number;
  readonly sleepMs: number;
  readonly asleepMs: number;
  readonly fallMs: number;
  readonly terminateMs: number;
  readonly cutMs: number;
  /** Where on its road a worker is killed or stopped every other time. */
  readonly places: readonly Failpoint[];
}

interface Field {
  readonly crew: Crew;
  readonly server: Server;
  readonly passage: Passage;
  readonly pen: Pen;
  readonly rng: Rng;
}

/** Strikes in all ways at once, each at its own rate, until it is told to stop. */
export class Nemesis {
  readonly blows: Blows = { worker_kills: 0, zombies: 0, server_faults: 0, terminated: 0, cuts: 0 };
  readonly #field: Field;
  readonly #stop = new AbortController();
  #work: Promise<unknown> = Promise.resolve();
  #isDown = false;

  constructor(field: Field) {
    this.#field = field;
  }

  begin(rates: Rates): void {
    this.#work = Promise.all([
      this.#every(rates.killMs, () => this.#kill(rates.places)),
      this.#every(rates.sleepMs, () => this.#sleep(rates)),
      this.#every(rates.fallMs, () => this.#fall()),
      this.#every(rates.terminateMs, () => this.#terminate()),
      this.#every(rates.cutMs, () => this.#cut()),
    ]);
  }

  /** Whatever is under way is brought to its end: whoever sleeps is woken, and the server is up. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  /** One does not wait for the other to be over. */
  async #every(ms: number, strike: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    const strikes = new Set<Promise<void>>();
    for (;;) {
      await pause(ms * (0.5 + this.#field.rng.float()), signal);
      if (signal.aborted) break;
      const under = strike().finally(() => strikes.delete(under));
      strikes.add(under);
    }
    await Promise.all(strikes);
  }

  readonly #choose = (count: number): number => this.#field.rng.below(Math.max(1, count));

  /** Every other time at a place on the road, else at a moment that nobody has chosen. */
  #place(places: readonly Failpoint[]): Failpoint | null {
    const { rng } = this.#field;
    return rng.below(2) === 0 ? null : (places[rng.below(places.length)] ?? null);
  }

  async #kill(places: readonly Failpoint[]): Promise<void> {
    if (await this.#field.crew.kill(this.#choose, this.#place(places))) this.blows.worker_kills += 1;
  }

  async #sleep({ asleepMs, places }: Rates): Promise<void> {
    const ms = asleepMs * (1 + this.#field.rng.float() / 2);
    if (await this.#field.crew.sleep(this.#choose, ms, this.#place(places))) this.blows.zombies += 1;
  }

  async #fall(): Promise<void> {
    const { server, pen } = this.#field;
    if (this.#isDown) return;
    this.#isDown = true;
    pen.write({ server: "dies" });
    const hasFallen = await server.fall(falls[this.blows.server_faults % falls.length] ?? "killed");
    pen.write({ server: "is back" });
    if (hasFallen) this.blows.server_faults += 1;
    this.#isDown = false;
  }

  async #terminate(): Promise<void> {
    try {
      await this.#field.server.terminate(this.#choose);
      this.blows.terminated += 1;
    } catch {
      // The server is away: nobody is connected to it.
    }
  }

  /** In turns before the server hears of the commit, and after it has answered. */
  async #cut(): Promise<void> {
    const how: Cut = this.blows.cuts % 2 === 0 ? "landed" : "not landed";
    this.blows.cuts += 1;
    void this.#field.passage.cut(how);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}
