import type { Json } from "./json/json.ts";

/**
 * Every way something can go wrong. What follows from a fault is decided here, never where it is thrown:
 * `tries` is how often a step that may be tried again is tried in all; 1 means never again.
 * `exit` is what the command line answers with.
 */
export const faults = {
  // The world was busy. Worth another try, with patience.
  RATE_LIMIT: { tries: 5, baseMs: 2000, capMs: 120_000, exit: 4, about: "the provider asked us to slow down" },
  NETWORK_TIMEOUT: { tries: 3, baseMs: 1000, capMs: 60_000, exit: 4, about: "no answer in time" },
  TEMPORARY_PROVIDER_ERROR: {
    tries: 3,
    baseMs: 1000,
    capMs: 60_000,
    exit: 4,
    about: "the provider failed and may recover",
  },
  TRANSIENT_DB_LOCK: { tries: 5, baseMs: 100, capMs: 5_000, exit: 4, about: "a database lock was in the way" },
  CALL_NOT_MADE: {
    tries: 100,
    baseMs: 1000,
    capMs: 60_000,
    exit: 4,
    about: "the store could not say in time that the call may be made, so that it was not; it is tried again",
  },
  DEPENDENCY_UNAVAILABLE: { tries: 3, baseMs: 1000, capMs: 60_000, exit: 4, about: "something the tool needs is down" },

  // The asking was wrong. Nothing was run.
  PLAN_INVALID: { tries: 1, exit: 2, about: "the plan breaks a rule; every reason is listed" },
  INVALID_INPUT: { tries: 1, exit: 2, about: "the input does not fit the tool's schema" },
  SCHEMA_VALIDATION_FAILED: { tries: 1, exit: 4, about: "the tool's answer does not fit its output schema" },
  SCHEMA_UNUSABLE: {
    tries: 1,
    exit: 2,
    about: "a schema is asynchronous, cannot be read, or yields something that is not JSON",
  },
  MISSING_REQUIRED_CONTEXT: { tries: 1, exit: 2, about: "a placeholder or binding has no value" },
  TOOL_INVALID: { tries: 1, exit: 2, about: "the definition of a tool contradicts itself" },
  POLICY_INVALID: { tries: 1, exit: 2, about: "the policy breaks a rule; every reason is listed" },
  CONFIG_INVALID: { tries: 1, exit: 2, about: "the configuration cannot be used" },
  REQUEST_KEY_REUSED: { tries: 1, exit: 2, about: "the request key belongs to a different request" },
  LIMIT_EXCEEDED: { tries: 1, exit: 2, about: "something is larger, deeper or longer than its limit" },

  // The rules said no, on the record.
  PROJECT_LOCKED: { tries: 1, exit: 4, about: "a person has locked the project" },
  PROJECT_ARCHIVED: { tries: 1, exit: 4, about: "a person has archived the project" },
  TOOL_UNKNOWN: { tries: 1, exit: 4, about: "no tool has that name" },
  PRECONDITION_FAILED: { tries: 1, exit: 4, about: "a condition of the step does not hold" },
  POLICY_DENIED: { tries: 1, exit: 4, about: "a rule refused the call" },
  AUTH_FORBIDDEN: { tries: 1, exit: 4, about: "this principal may not do that" },
  MODE_FORBIDS: { tries: 1, exit: 4, about: "the mode of the run does not allow the effect" },
  DEADLINE_EXCEEDED: { tries: 1, exit: 4, about: "the run's deadline has passed" },
  BUDGET_EXCEEDED: { tries: 1, exit: 4, about: "the call would overspend a limit" },
  RATE_EXCEEDED: { tries: 1, exit: 4, about: "the call would pass a rate, and there is no time to wait" },
  GATE_REJECTED: { tries: 1, exit: 4, about: "a person said no" },
  GATE_EXPIRED: { tries: 1, exit: 4, about: "nobody decided in time" },
  PREVIEW_STALE: { tries: 3, baseMs: 1, capMs: 1, exit: 4, about: "what was approved is not what would be done now" },
  DUPLICATE_EFFECT: { tries: 1, exit: 4, about: "the same act was already done elsewhere" },
  DUPLICATE_IN_DOUBT: { tries: 1, exit: 4, about: "the same act may already have been done elsewhere" },
  EFFECT_CLOSED: { tries: 1, exit: 4, about: "the act was given up or undone and is not done again by itself" },
  CONFIRMATION_FAILED: { tries: 1, exit: 4, about: "the world no longer matches the recorded act" },
  ASSERTION_FAILED: { tries: 1, exit: 4, about: "an assertion of the plan does not hold" },

  // State did not take what the call made of it. Nothing of the call is left.
  STATE_INVALID: { tries: 1, exit: 4, about: "an entry does not fit its slice, or nothing takes the event" },
  STATE_FORBIDDEN: {
    tries: 1,
    exit: 4,
    about: "the tool's effect or the slice's policy does not let it be changed so",
  },
  REDUCER_FAILED: { tries: 1, exit: 4, about: "a reducer threw" },
  STATE_CONFLICT: {
    tries: 1000,
    baseMs: 1,
    capMs: 250,
    exit: 4,
    about: "others changed what the call had read or written; it is run again",
  },
  VISIBILITY_WANTED: {
    tries: 1,
    exit: 3,
    about: "the tool asks for more of the prompt to be shown before it is called again",
  },
  STATE_AFTER_ACT: { tries: 1, exit: 4, about: "the act happened, but state does not take what it says" },
  SLICE_CHANGED: { tries: 1, exit: 4, about: "a slice is on record with another version or shape, or is gone" },

  // It ran and went wrong.
  TOOL_FAILED: { tries: 1, exit: 4, about: "the tool threw something it did not name" },
  TOOL_TIMEOUT: { tries: 3, baseMs: 1000, capMs: 60_000, exit: 4, about: "the tool did not answer in its time" },
  CANCELLED: { tries: 1, exit: 4, about: "the call was cancelled" },
  OUTCOME_UNKNOWN: { tries: 1, exit: 4, about: "the act may or may not have happened" },
  CHILD_FAILED: { tries: 1, exit: 4, about: "the run that the step asked for did not complete" },
  ABORTED: { tries: 1, exit: 4, about: "an earlier step ended the plan" },
  DEPENDENCY_FAILED: { tries: 1, exit: 4, about: "a step this one needs did not succeed" },

  // Parked: nothing failed, something is not there.
  TOOL_MISSING: { tries: 1, exit: 3, about: "the tool pinned when the run was accepted is not registered here" },
  TOOL_CHANGED: { tries: 1, exit: 3, about: "the tool is not the one pinned when the run was accepted" },

  // Files.
  PATH_FORBIDDEN: {
    tries: 1,
    exit: 4,
    about: "the path leads out of the tree, through a link, or to something that no tool may touch",
  },
  FILE_NOT_FOUND: { tries: 1, exit: 4, about: "nothing is at that path" },
  FILE_UNFIT: { tries: 1, exit: 4, about: "what is at that path is not what the call needs" },
  FILE_DENIED: { tries: 1, exit: 4, about: "the operating system does not permit that" },
  FILE_FAILED: { tries: 1, exit: 4, about: "the operating system could not read or write a file" },

  // Resources: what a tool changes beside the journal.
  RESOURCE_BUSY: {
    tries: 5,
    baseMs: 1000,
    capMs: 30_000,
    exit: 4,
    about: "another call is at work on the resource, or one was never ended nor undone",
  },
  RESOURCE_UNFIT: { tries: 1, exit: 4, about: "the resource holds something that could not be put back" },
  RESOURCE_RESTLESS: { tries: 1, exit: 4, about: "the resource changed while nobody should have been changing it" },
  RESOURCE_FULL: { tries: 1, exit: 6, about: "no room left to keep what is there or to put it back" },
  RESOURCE_ELSEWHERE: { tries: 1, exit: 3, about: "the resource is bound to another machine" },
  CAPTURE_NOT_FOUND: { tries: 1, exit: 5, about: "what was captured is no longer kept" },
  RESTORE_BLOCKED: { tries: 1, exit: 4, about: "something that the call did not do would have to be undone" },
  RESTORE_FAILED: { tries: 1, exit: 6, about: "not everything could be put back yet" },

  // Nothing by that name, or no longer possible.
  RUN_NOT_FOUND: { tries: 1, exit: 5, about: "no run has that id" },
  GATE_NOT_FOUND: { tries: 1, exit: 5, about: "no gate has that id" },
  SCHEDULE_NOT_FOUND: { tries: 1, exit: 5, about: "no schedule has that name" },
  STEP_NOT_FOUND: { tries: 1, exit: 5, about: "the run has no such step" },
  CHECKPOINT_NOT_FOUND: { tries: 1, exit: 5, about: "no state is kept from before or after that call" },
  GATE_DECIDED: { tries: 1, exit: 2, about: "the gate was already decided, expired or closed, or by the same person" },
  GATE_MISMATCH: { tries: 1, exit: 2, about: "the gate holds another call than the one that was looked at" },
  NOT_POSSIBLE: { tries: 1, exit: 2, about: "the run or step is not in a state that allows this" },

  // The store.
  STORE_BUSY: { tries: 1, exit: 6, about: "another process is the worker of this store" },
  STORE_FULL: { tries: 1, exit: 6, about: "no room left to write" },
  STORE_READ_ONLY: { tries: 1, exit: 6, about: "the store cannot be written" },
  STORE_UNUSABLE: { tries: 1, exit: 6, about: "the store cannot be opened or is not one of ours" },
  STORE_OLDER: { tries: 1, exit: 6, about: "the store has to be migrated before this version can use it" },
  STORE_NEWER: { tries: 1, exit: 6, about: "the store was written by a newer version" },
  STORE_FAILED: { tries: 1, exit: 6, about: "the store failed and nothing was written" },
  STORE_UNKNOWN: { tries: 1, exit: 6, about: "the store's answer was lost; it may or may not have written" },
  CHAIN_BROKEN: { tries: 1, exit: 6, about: "the journal was changed after it was written" },
  ENGINE_CLOSED: { tries: 1, exit: 6, about: "the engine was closed" },
} as const satisfies Record<string, { tries: number; baseMs?: number; capMs?: number; exit: number; about: string }>;

export type FaultCode = keyof typeof faults;

/** A failure as data: it is recorded, compared and shown, so it holds no stack and no class. */
export interface Fault {
  readonly code: FaultCode;
  /** What, to which, and what now. */
  readonly message: string;
  readonly detail?: Json;
}

/** An attempt that was overtaken, or never called, failed at nothing: it does not count against the tries of what may fail. */
export function isForgiven({ code }: Pick<Fault, "code">): boolean {
  return code === "STATE_CONFLICT" || code === "CALL_NOT_MADE";
}

export function fault(code: FaultCode, message: string, detail?: Json): Fault {
  return detail === undefined ? { code, message } : { code, message, detail };
}

/** How a tool or the engine says which fault it met. Nothing else is thrown on purpose. */
export class FaultError extends Error {
  override readonly name = "FaultError";
  readonly fault: Fault;

  constructor(fault: Fault, options?: ErrorOptions) {
    super(`${fault.code}: ${fault.message}`, options);
    this.fault = fault;
  }
}

/** A fault together with the tool's word that nothing happened, so that a retry is safe. */
export class NotDoneError extends FaultError {
  readonly done = false;
}

/** `throw expandVisibility(...)`: nothing was done, and whoever called is to show these sections and call again. */
export function expandVisibility(sections: readonly string[], reason: string): NotDoneError {
  return new NotDoneError(fault("VISIBILITY_WANTED", reason, { sections }));
}

/** `throw notDone(...)` in an act: it failed, and it left nothing in the world. */
export function notDone(cause: Fault | FaultCode, message = "the tool says that nothing happened"): NotDoneError {
  return new NotDoneError(typeof cause === "string" ? fault(cause, message) : cause);
}
