import type { StepId } from "../../core/id.ts";
import { stateKeyOf } from "../../core/run.ts";
import { wasOvertaken } from "../../core/step.ts";
import type { Turn } from "../desk/lines.ts";
import { IndexQueue } from "../watch/index-queue.ts";
import type { Slots } from "../watch/slots.ts";
import type { Hold } from "./hold.ts";
import { walk } from "./walk.ts";

/** The steps of a held run that are ready or on the road. They start in the order of the plan, as far as there is room. */
export class Walks {
  readonly #hold: Hold;
  readonly #slots: Slots;
  readonly #ready = new IndexQueue();
  /** By step, the how-manieth it was to set out. */
  readonly #walking = new Map<number, number>();
  /** By step that was overtaken, its place among those of its project. */
  readonly #turns = new Map<number, Turn>();
  #setOut = 0;
  #stopped = false;

  constructor(hold: Hold, slots: Slots) {
    this.#hold = hold;
    this.#slots = slots;
  }

  /** How many are on the road. */
  get size(): number {
    return this.#walking.size;
  }

  ready(index: number): void {
    this.#ready.push(index);
  }

  /** Starts what is ready. */
  advance(): void {
    const busy: number[] = [];
    while (this.#ready.size > 0 && !this.#stopped) {
      if (!this.#slots.take(this.#whenFree)) break;
      const index = this.#ready.pop() as number;
      if (this.#walking.has(index)) {
        busy.push(index);
        this.#slots.give();
      } else if (this.#mayGo(index)) {
        void this.#walk(index);
      } else {
        this.#slots.give();
      }
    }
    for (const index of busy) this.#ready.push(index);
  }

  readonly #whenFree = () => this.advance();

  /** False: others of its project are to go first, and it is called after them. */
  #mayGo(index: number): boolean {
    const { ports, mailbox } = this.#hold.way;
    const { run } = mailbox;
    if (!wasOvertaken(run.steps.get(index))) return true;
    const called = () => {
      this.#ready.push(index);
      this.advance();
    };
    const turn = this.#turns.get(index) ?? ports.projects.queue(run.tenant, stateKeyOf(run), called);
    this.#turns.set(index, turn);
    return turn.isNow;
  }

  #leaveLine(index: number): void {
    const turn = this.#turns.get(index);
    this.#turns.delete(index); // Whoever is called now may find this step overtaken again: it joins anew.
    turn?.leave();
  }

  async #walk(index: number): Promise<void> {
    const { way } = this.#hold;
    this.#setOut += 1;
    this.#walking.set(index, this.#setOut);
    try {
      await walk(way, way.mailbox.run.steps.get(index));
    } catch (error) {
      this.#hold.lose(error);
    }
    this.#walking.delete(index);
    this.#leaveLine(index);
    this.#slots.give();
    this.advance();
    this.#hold.restIfDone();
  }

  /** How many have ever set out. */
  get setOut(): number {
    return this.#setOut;
  }

  /** Steps in flight that no `started` fact stands for, out of the first so many that set out. */
  inFlight(first = this.#setOut): readonly StepId[] {
    const { run } = this.#hold.way.mailbox;
    const ids: StepId[] = [];
    for (const [index, setOut] of this.#walking) {
      const { standing, spec } = run.steps.get(index);
      if (setOut <= first && standing.state !== "running") ids.push(spec.step_id);
    }
    return ids;
  }

  /** Starts nothing more; what is on the road comes to its end. */
  stop(): void {
    this.#stopped = true;
    for (const index of this.#turns.keys()) if (!this.#walking.has(index)) this.#leaveLine(index);
  }
}
