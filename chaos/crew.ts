import { type ChildProcess, spawn } from "node:child_process";
import type { Guard } from "./guard.ts";
import { READY, type Task } from "./task.ts";

/** One worker process. */
interface Hand {
  readonly by: string;
  readonly child: ChildProcess;
  /** It is at work. */
  isReady: boolean;
  isAsleep: boolean;
  /** It was meant to end. */
  isDismissed: boolean;
}

/** The workers: as many as wanted, each replaced at once when it was killed. */
export class Crew {
  readonly #program: string;
  readonly #task: Omit<Task, "by">;
  readonly #guard: Guard;
  readonly #hands = new Set<Hand>();
  #hired = 0;
  /** Workers that ended though nobody had killed them, with what they said. */
  readonly fallen: string[] = [];

  constructor(program: string, task: Omit<Task, "by">, guard: Guard) {
    this.#program = program;
    this.#task = task;
    this.#guard = guard;
  }

  hire(): void {
    this.#hired += 1;
    const by = `w${this.#hired}`;
    const env = { ...process.env, WRIT_CHAOS_TASK: JSON.stringify({ ...this.#task, by } satisfies Task) };
    const child = this.#guard.keep(spawn(process.execPath, [this.#program], { env, stdio: "pipe" }));
    const hand: Hand = { by, child, isReady: false, isAsleep: false, isDismissed: false };
    this.#hands.add(hand);
    let said = "";
    child.stdout.on("data", (text: Buffer) => {
      if (`${text}`.includes(READY)) hand.isReady = true;
    });
    child.stderr.on("data", (text: Buffer) => {
      said = `${said}${text}`.slice(-2_000);
    });
    child.once("close", (code, signal) => {
      this.#hands.delete(hand);
      if (!hand.isDismissed) this.fallen.push(`${by} ended with ${signal ?? code}: ${said}`);
      else if (code !== 0 && signal !== "SIGKILL") this.fallen.push(`${by} did not end well: ${code} ${said}`);
    });
  }

  /** Those who are at work and not asleep. */
  #awake(): readonly Hand[] {
    return [...this.#hands].filter(({ isReady, isAsleep, isDismissed }) => isReady && !isAsleep && !isDismissed);
  }

  /** Kills one of those at work, and hires another. False: nobody was at work. */
  kill(choose: (count: number) => number): boolean {
    const awake = this.#awake();
    const hand = awake[choose(awake.length)];
    if (hand === undefined) return false;
    hand.isDismissed = true;
    hand.child.kill("SIGKILL");
    this.hire();
    return true;
  }

  /** Stops one of those at work, and lets it go on after a while, as if nothing had been. */
  async sleep(choose: (count: number) => number, ms: number): Promise<boolean> {
    const awake = this.#awake();
    const hand = awake[choose(awake.length)];
    if (hand === undefined) return false;
    hand.isAsleep = true;
    hand.child.kill("SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, ms));
    hand.child.kill("SIGCONT");
    hand.isAsleep = false;
    return true;
  }

  /** Asks everyone to finish and go; whoever is still there after this time is killed and named. */
  async dismiss(withinMs: number): Promise<readonly string[]> {
    const hands = [...this.#hands];
    const gone = Promise.all(
      hands.map(({ child }) => new Promise<void>((resolve) => child.once("close", () => resolve()))),
    );
    for (const hand of hands) {
      hand.isDismissed = true;
      hand.child.kill("SIGTERM");
    }
    const patience = new Promise<void>((resolve) => setTimeout(resolve, withinMs).unref());
    await Promise.race([gone, patience]);
    const late = [...this.#hands];
    for (const { child } of late) child.kill("SIGKILL");
    await gone;
    return late.map(({ by }) => `${by} did not come to its end`);
  }
}
