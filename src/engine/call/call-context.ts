import type { Grant } from "../../core/decide/command.ts";
import type { Notice } from "../../core/event/event.ts";
import type { Step } from "../../core/run/run.ts";
import type { Claim } from "../../core/store/store.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { CallEnd } from "../api/observer.ts";
import type { RunMailbox } from "../journal/run-mailbox.ts";
import type { AttemptReport } from "./attempt-report.ts";
import type { CallPorts } from "./call-ports.ts";
import type { CallerFunction } from "./caller-function.ts";
import type { ChildRunPort } from "./child-run-port.ts";
import type { RunningHandler } from "./start-handler.ts";

/** Identifies a running handler: that of an attempt, or that of a preview. */
export type HandlerOwner = Pick<Grant, "step_id" | "generation">;

/** The leased run that a call belongs to, as the stages of the call see it. */
export interface CallContext {
  readonly ports: CallPorts;
  readonly claim: Claim;
  readonly mailbox: RunMailbox;
  readonly childRuns: ChildRunPort;
  /** The position of the run when this process first loaded it. */
  readonly loadedAt: number;

  /** Returns the number of calls that have entered the road so far. */
  callsStarted(): number;
  /** Returns the steps whose call is in flight without a `step.started` event. `calls`: only among this number of first calls. */
  inFlight(calls?: number): readonly StepId[];

  /** Has recorded acts confirmed in the outside world, and records the answers. */
  confirmActs(acts: readonly StepId[]): Promise<void>;

  /** Returns what the process that proposed the call of a step gave with it, or null. */
  givenWith(step: Step): CallerFunction | null;

  /** The host of the agent begins the work of a step itself. Resolves when it has ended. */
  hostBegins(step: StepId): Promise<CallEnd>;

  /** Registers a running handler. A cancelled run aborts it. */
  handlerStarted(owner: HandlerOwner, handler: RunningHandler): void;
  /** The attempt has ended, though its handler may still run. */
  attemptEnded(owner: HandlerOwner): void;
  /** The handler has returned. `late`: its report, if the attempt ended before it. */
  handlerReturned(grant: Grant, late: AttemptReport | null): void;

  /** The handler of an act has returned, or was never called, and its end could not be recorded under the lease. */
  reportReturn(grant: Grant): void;

  /** Delivers committed notices, each at least once. */
  deliver(notices: readonly Notice[]): void;
  /** Plans the next transition of a step: at once, or at its time. */
  schedule(step: Step): void;

  /** True if the lease was lost or released: nothing more is written under it. */
  isReleased(): boolean;
  /** Waits for work without which the run cannot continue here. If it fails, the run is lost. */
  require(work: Promise<unknown>): Promise<unknown>;
  /** Gives the run up because of an error. */
  lose(error: unknown): void;
  /** Releases the run if it has no more work. */
  releaseIfAtRest(): void;
}
