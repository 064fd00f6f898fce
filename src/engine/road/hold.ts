import type { Step } from "../../core/run.ts";
import type { Way } from "./way.ts";

/** The hold on a run, as those who work under it see it. */
export interface Hold {
  readonly way: Way;
  /** It was lost or let go: nothing more is written under it. */
  isGone(): boolean;
  /** Sees to it that a step's next move happens when it can. */
  attend(step: Step): void;
  /** Waits for work that the run cannot do without: if it fails, the run is lost here. */
  keep(work: Promise<unknown>): Promise<unknown>;
  /** Such work has failed. */
  lose(error: unknown): void;
  /** Something is over, so the run may have come to rest. */
  restIfDone(): void;
}
