import type { Grant } from "../../core/command.ts";
import type { StepId } from "../../core/id.ts";
import type { Claim } from "../../core/store.ts";
import type { Ports } from "../ports.ts";
import type { Mailbox } from "../record/mailbox.ts";
import type { Running } from "./execute.ts";
import type { Execution } from "./execution.ts";
import type { Kin } from "./kin.ts";

/** Whom a handler is run for: an attempt, or whoever wants to know what one would do. */
export type Caller = Pick<Grant, "step_id" | "generation">;

/** What a walk along the road needs of whoever holds the run. */
export interface Way {
  readonly ports: Ports;
  readonly claim: Claim;
  readonly mailbox: Mailbox;
  readonly kin: Kin;
  /** How many steps have set out so far. */
  setOut(): number;
  /** Steps in flight that no `started` fact stands for, out of all or of the first so many that set out. */
  inFlight(first?: number): readonly StepId[];
  /** The handler is running; a cancelled run aborts it. */
  began(caller: Caller, running: Running): void;
  /** The attempt is over, though its handler may still be there. */
  over(caller: Caller): void;
  /** The handler has left; `late` is what it said when its attempt was over. */
  gone(grant: Grant, late: Execution | null): void;
}
