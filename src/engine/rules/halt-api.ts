import type { Halt } from "../../core/rows.ts";
import type { As } from "../asking.ts";

/** What is halted, or goes on: a run and those that it asked for, or everything of every tenant. Default: all of the tenant. */
export interface HaltOptions extends As {
  readonly runId?: string;
  /** For operators: people and services that have the role. */
  readonly everything?: true;
}

/**
 * Whether anything new begins. While something is halted no call is made that has not been made yet, on any worker; what is under
 * way comes to its end, and what was done can be verified, resolved and undone. Steps wait, and go on when the halt is lifted.
 */
export interface Halts {
  /** From now on. An agent cannot. What is halted already stays so, by whoever halted it first. */
  set(options: HaltOptions & { readonly reason: string }): Promise<void>;
  /** Only a person can. */
  lift(options: HaltOptions & { readonly reason?: string }): Promise<void>;
  /** Those that stand for the tenant. */
  list(options: As): Promise<readonly Halt[]>;
}
