import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Failpoint } from "../src/engine/failpoint.ts";
import type { Guard } from "./guard.ts";
import { FAINTS, type Order, READY, type Task } from "./task.ts";

/** One worker process. */
interface Hand {
  readonly by: string;
  readonly child: ChildProcessWithoutNullStreams;
  readonly gone: Promise<void>;
  /** It is at work, and nobody has anything in mind with it. */
  isFree: boolean;
  /** It is meant to end. */
  isDismissed: boolean;
  faints: () => void;
}

/** Whom of so many. */
export type Choice = (count: number) => number;

/** Whoever has not passed the place by then is struck where it is; and does not stop by itself a little before. */
const waitForPlaceMs = 1_000;
const obeyForMs = 800;

/** The workers: as many as wanted, each replaced at once when it was killed. */
export class Crew {
  readonly #program: string;
  readonly #task: Omit<Task, "by">;
  readonly #guard: Guard;
  readonly #hands = new Set<Hand>();
  #hired = 0;
  /** Workers that ended though nobody had killed them, or not as they should, with what they said. */
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
    const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const hand: Hand = { by, child, gone, isFree: false, isDismissed: false, faints: () => {} };
    this.#hands.add(hand);
    child.stdin.on("error", () => {}); // It died before it could be told.
    child.stdout.on("data", (text: Buffer) => {
      if (`${text}`.includes(READY)) hand.isFree = true;
      if (`${text}`.includes(FAINTS)) hand.faints();
    });
    let said = "";
    child.stderr.on("data", (text: Buffer) => {
      said = `${said}${text}`.slice(-2_000);
    });
    child.once("close", (code, signal) => this.#closed(hand, signal ?? code, said));
  }

  #closed(hand: Hand, how: number | string | null, said: string): void {
    this.#hands.delete(hand);
    const isMeant = hand.isDismissed && (how === 0 || how === "SIGKILL");
    if (!isMeant) this.fallen.push(`${hand.by} ended with ${how}: ${said}`);
  }

  #choose(choose: Choice): Hand | undefined {
    const free = [...this.#hands].filter(({ isFree }) => isFree);
    const hand = free[choose(free.length)];
    if (hand !== undefined) hand.isFree = false;
    return hand;
  }

  /** Kills one of those at work, at a place on its road or wherever it is, and hires another. False: nobody was at work. */
  async kill(choose: Choice, at: Failpoint | null): Promise<boolean> {
    const hand = this.#choose(choose);
    if (hand === undefined) return false;
    hand.isDismissed = true;
    if (at !== null) await Promise.race([hand.gone, order(hand, { do: "die", at })]);
    hand.child.kill("SIGKILL");
    this.hire();
    return true;
  }

  /** Stops one of those at work, and lets it go on after a while, as if nothing had been. */
  async sleep(choose: Choice, ms: number, at: Failpoint | null): Promise<boolean> {
    const hand = this.#choose(choose);
    if (hand === undefined) return false;
    const fainted = new Promise<"by itself">((resolve) => {
      hand.faints = () => resolve("by itself");
    });
    const stopped = at === null ? "not yet" : await Promise.race([fainted, order(hand, { do: "faint", at })]);
    // Stopped by both, it would stop once more when it is woken.
    if (stopped === "not yet") hand.child.kill("SIGSTOP");
    await pause(ms);
    hand.child.kill("SIGCONT");
    hand.isFree = true;
    return true;
  }

  /** Asks everyone to finish and go; whoever is still there after this time is killed and named. */
  async dismiss(withinMs: number): Promise<readonly string[]> {
    const hands = [...this.#hands];
    for (const hand of hands) {
      hand.isDismissed = true;
      hand.child.kill("SIGCONT");
      hand.child.kill("SIGTERM");
    }
    const gone = Promise.all(hands.map((hand) => hand.gone));
    await Promise.race([gone, pause(withinMs)]);
    const late = [...this.#hands];
    for (const { child } of late) child.kill("SIGKILL");
    await gone;
    return late.map(({ by }) => `${by} did not come to its end`);
  }
}

/** Tells it, and waits so long that it can have been done. */
async function order({ child }: Hand, told: Omit<Order, "until">): Promise<"not yet"> {
  const until = Date.now() + obeyForMs;
  child.stdin.write(`${JSON.stringify({ ...told, until } satisfies Order)}\n`);
  await pause(waitForPlaceMs);
  return "not yet";
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
