import type { Json } from "./json.ts";

/**
 * The kinds of failure.
 * `invalid_input`: the request, plan, config or definition is wrong. `conflict`: the request does not fit the state.
 * `refused`: a rule or a person refused the call. `failed`: the call ran, or would have run, and failed.
 * `unavailable`: something outside is busy or down for now. `in_doubt`: the act may or may not have happened.
 * `waiting`: the run continues when something that is missing arrives. `not_found`: the named object does not exist.
 * `storage`: the store or the disk cannot be used.
 */
export type FaultCategory =
  | "invalid_input"
  | "conflict"
  | "refused"
  | "failed"
  | "unavailable"
  | "in_doubt"
  | "waiting"
  | "not_found"
  | "storage";

interface FaultRow {
  readonly tries: number;
  readonly baseMs?: number;
  readonly capMs?: number;
  readonly category: FaultCategory;
  readonly about: string;
}

/**
 * Every fault code. This table decides how Writ reacts to a fault, never the code that throws it:
 * `tries` is the total number of attempts of a step that may be retried; 1 means that it is not retried.
 * `category` is the kind of failure, which a surface maps to its own answers, such as exit codes.
 */
export const faults = {
  // Temporary failures: retried with a delay.
  RATE_LIMIT: {
    tries: 5,
    baseMs: 2000,
    capMs: 120_000,
    category: "unavailable",
    about: "the provider asked us to slow down",
  },
  NETWORK_TIMEOUT: { tries: 3, baseMs: 1000, capMs: 60_000, category: "unavailable", about: "no answer in time" },
  TEMPORARY_PROVIDER_ERROR: {
    tries: 3,
    baseMs: 1000,
    capMs: 60_000,
    category: "unavailable",
    about: "the provider failed and may recover",
  },
  TRANSIENT_DB_LOCK: {
    tries: 5,
    baseMs: 100,
    capMs: 5_000,
    category: "unavailable",
    about: "a database lock blocked the call",
  },
  CALL_NOT_MADE: {
    tries: 100,
    baseMs: 1000,
    capMs: 60_000,
    category: "unavailable",
    about: "the store did not confirm in time that the call may start, so the call was not made; it is retried",
  },
  DEPENDENCY_UNAVAILABLE: {
    tries: 3,
    baseMs: 1000,
    capMs: 60_000,
    category: "unavailable",
    about: "something the tool needs is down",
  },

  // The request was wrong. Nothing was run.
  PLAN_INVALID: { tries: 1, category: "invalid_input", about: "the plan breaks a rule; every reason is listed" },
  INVALID_INPUT: { tries: 1, category: "invalid_input", about: "the input does not fit the tool's schema" },
  SCHEMA_VALIDATION_FAILED: { tries: 1, category: "failed", about: "the tool's answer does not fit its output schema" },
  SCHEMA_UNUSABLE: {
    tries: 1,
    category: "invalid_input",
    about: "a schema is asynchronous, cannot be read, or yields something that is not JSON",
  },
  MISSING_REQUIRED_CONTEXT: { tries: 1, category: "invalid_input", about: "a placeholder or binding has no value" },
  TOOL_INVALID: { tries: 1, category: "invalid_input", about: "the definition of a tool contradicts itself" },
  POLICY_INVALID: { tries: 1, category: "invalid_input", about: "the policy breaks a rule; every reason is listed" },
  CONFIG_INVALID: { tries: 1, category: "invalid_input", about: "the configuration cannot be used" },
  REQUEST_KEY_REUSED: { tries: 1, category: "conflict", about: "the request key belongs to a different request" },
  CALL_REUSED: {
    tries: 1,
    category: "conflict",
    about: "the id of the call belongs to a call of another tool or with another input",
  },
  SESSION_DIFFERS: {
    tries: 1,
    category: "conflict",
    about: "the session was opened before with another agent, mode or deadline",
  },
  SESSION_BUSY: { tries: 1, category: "conflict", about: "another process holds the run of the session" },
  RUN_CLOSED: { tries: 1, category: "conflict", about: "the run takes no more calls; open its session again" },
  CALL_HELD: { tries: 1, category: "waiting", about: "a person has to approve the call before it is made" },
  LIMIT_EXCEEDED: {
    tries: 1,
    category: "invalid_input",
    about: "something is larger, deeper or longer than its limit",
  },

  // A rule or a person refused; the refusal is recorded.
  PROJECT_LOCKED: { tries: 1, category: "refused", about: "a person has locked the project" },
  PROJECT_ARCHIVED: { tries: 1, category: "refused", about: "a person has archived the project" },
  TOOL_UNKNOWN: { tries: 1, category: "refused", about: "no tool has that name" },
  PRECONDITION_FAILED: { tries: 1, category: "refused", about: "a condition of the step does not hold" },
  POLICY_DENIED: { tries: 1, category: "refused", about: "a rule refused the call" },
  AUTH_REQUIRED: { tries: 1, category: "refused", about: "the request has no valid credential" },
  AUTH_FORBIDDEN: { tries: 1, category: "refused", about: "this principal may not do that" },
  MODE_FORBIDS: { tries: 1, category: "refused", about: "the mode of the run does not allow the effect" },
  DEADLINE_EXCEEDED: { tries: 1, category: "refused", about: "the run's deadline has passed" },
  BUDGET_EXCEEDED: { tries: 1, category: "refused", about: "the call would overspend a limit" },
  RATE_EXCEEDED: {
    tries: 1,
    category: "refused",
    about: "the call would exceed a rate, and the deadline leaves no time to wait",
  },
  GATE_REJECTED: { tries: 1, category: "refused", about: "a person rejected the call" },
  GATE_EXPIRED: { tries: 1, category: "refused", about: "the gate expired before enough people decided" },
  PREVIEW_STALE: {
    tries: 3,
    baseMs: 1,
    capMs: 1,
    category: "refused",
    about: "the call would now do something other than the approved preview",
  },
  DUPLICATE_EFFECT: { tries: 1, category: "refused", about: "the same act was already done elsewhere" },
  DUPLICATE_IN_DOUBT: { tries: 1, category: "refused", about: "the same act may already have been done elsewhere" },
  EFFECT_CLOSED: {
    tries: 1,
    category: "refused",
    about: "the act was given up or undone and is not repeated automatically",
  },
  CONFIRMATION_FAILED: { tries: 1, category: "failed", about: "the world no longer matches the recorded act" },
  ASSERTION_FAILED: { tries: 1, category: "failed", about: "an assertion of the plan does not hold" },

  // The state rejected the changes of the call, and none of them was published.
  STATE_INVALID: {
    tries: 1,
    category: "failed",
    about: "an entry does not fit its slice, or no slice handles the event",
  },
  STATE_FORBIDDEN: {
    tries: 1,
    category: "refused",
    about: "the tool's effect or the slice's policy does not allow this change",
  },
  REDUCER_FAILED: { tries: 1, category: "failed", about: "a reducer threw" },
  STATE_CONFLICT: {
    tries: 1000,
    baseMs: 1,
    capMs: 250,
    category: "failed",
    about: "another call changed state that this call had read or written; it is run again",
  },
  VISIBILITY_WANTED: {
    tries: 1,
    category: "waiting",
    about: "the tool asks for more of the prompt to be shown before it is called again",
  },
  STATE_AFTER_ACT: { tries: 1, category: "failed", about: "the act happened, but the state rejected its changes" },
  SLICE_CHANGED: {
    tries: 1,
    category: "failed",
    about: "a slice is stored with another version or shape, or is no longer declared",
  },

  // The call ran and failed.
  TOOL_FAILED: { tries: 1, category: "failed", about: "the tool threw an error that is not a fault" },
  TOOL_TIMEOUT: {
    tries: 3,
    baseMs: 1000,
    capMs: 60_000,
    category: "failed",
    about: "the tool did not answer within its timeout",
  },
  ANSWER_INCOMPLETE: {
    tries: 1,
    category: "failed",
    about: "the stream of a model's answer was cut, or its provider reports an error in it",
  },
  CANCELLED: { tries: 1, category: "failed", about: "the call was cancelled" },
  OUTCOME_UNKNOWN: { tries: 1, category: "in_doubt", about: "the act may or may not have happened" },
  REPLAN_REFUSED: {
    tries: 1,
    category: "failed",
    about: "the answer of the replanner is not a plan that can run; the old plan is not run again",
  },
  CHILD_FAILED: { tries: 1, category: "failed", about: "the child run of the step did not complete" },
  ABORTED: { tries: 1, category: "failed", about: "an earlier step ended the plan" },
  DEPENDENCY_FAILED: { tries: 1, category: "failed", about: "a step this one needs did not succeed" },

  HELD_FOR_APPROVAL: {
    tries: 1,
    category: "waiting",
    about: "a policy holds the request; it is executed once a person approves its gate",
  },

  // Parked: nothing failed, but something is missing.
  TOOL_MISSING: {
    tries: 1,
    category: "waiting",
    about: "the tool pinned when the run was accepted is not registered here",
  },
  TOOL_AWAY: {
    tries: 1,
    category: "waiting",
    about: "the tool of the agent's call, or the function by which its caller runs it, is not in this process now",
  },
  TOOL_CHANGED: { tries: 1, category: "waiting", about: "the tool is not the one pinned when the run was accepted" },

  // Files.
  PATH_FORBIDDEN: {
    tries: 1,
    category: "refused",
    about: "the path leads out of the tree, through a link, or to something that no tool may touch",
  },
  FILE_NOT_FOUND: { tries: 1, category: "failed", about: "nothing is at that path" },
  FILE_UNFIT: { tries: 1, category: "failed", about: "the path has another kind of file than the call needs" },
  FILE_DENIED: { tries: 1, category: "failed", about: "the operating system does not permit that" },
  FILE_FAILED: { tries: 1, category: "failed", about: "the operating system could not read or write a file" },

  // Resources: data outside the journal that tools change.
  RESOURCE_BUSY: {
    tries: 5,
    baseMs: 1000,
    capMs: 30_000,
    category: "unavailable",
    about: "another call uses the resource, or an earlier call was neither completed nor undone",
  },
  RESOURCE_UNFIT: { tries: 1, category: "failed", about: "the resource holds something that could not be restored" },
  RESOURCE_RESTLESS: {
    tries: 1,
    category: "failed",
    about: "the resource changed while no call should have been changing it",
  },
  RESOURCE_FULL: { tries: 1, category: "storage", about: "no room left to capture or restore the resource" },
  RESOURCE_ELSEWHERE: { tries: 1, category: "waiting", about: "the resource is bound to another machine" },
  RESOURCE_REPLACED: {
    tries: 1,
    category: "failed",
    about: "the root directory was removed, moved or replaced",
  },
  CAPTURE_NOT_FOUND: { tries: 1, category: "not_found", about: "the capture is no longer kept" },
  RESTORE_BLOCKED: {
    tries: 1,
    category: "refused",
    about: "the restore would undo a change that the call did not make",
  },
  RESTORE_FAILED: { tries: 1, category: "storage", about: "not everything could be restored yet" },

  // The name is unknown, or the operation is no longer possible.
  RUN_NOT_FOUND: { tries: 1, category: "not_found", about: "no run has that id" },
  GATE_NOT_FOUND: { tries: 1, category: "not_found", about: "no gate has that id" },
  OUTCOME_NOT_FOUND: { tries: 1, category: "not_found", about: "no outcome has that id" },
  ACT_NOT_FOUND: { tries: 1, category: "not_found", about: "no act has that key" },
  SCHEDULE_NOT_FOUND: { tries: 1, category: "not_found", about: "no schedule has that name" },
  STEP_NOT_FOUND: { tries: 1, category: "not_found", about: "the run has no such step" },
  CHECKPOINT_NOT_FOUND: { tries: 1, category: "not_found", about: "no checkpoint of that call is kept" },
  GATE_DECIDED: {
    tries: 1,
    category: "conflict",
    about: "the gate was already decided, expired or closed, or this person has already voted",
  },
  GATE_MISMATCH: { tries: 1, category: "conflict", about: "the gate holds another call than the one that was shown" },
  NOT_POSSIBLE: { tries: 1, category: "conflict", about: "the run or step is not in a state that allows this" },

  // The store.
  STORE_BUSY: {
    tries: 1,
    category: "storage",
    about: "another process prevents the migration or the maintenance of this store",
  },
  SERVER_BUSY: { tries: 1, category: "unavailable", about: "the server refuses more requests of this client for now" },
  SERVER_UNREACHABLE: { tries: 1, category: "unavailable", about: "the server of the command line did not answer" },
  ROUTE_NOT_FOUND: { tries: 1, category: "not_found", about: "the server has no such route" },
  STORE_ELSEWHERE: { tries: 1, category: "storage", about: "a worker on another machine uses the file of this store" },
  STORE_FULL: { tries: 1, category: "storage", about: "no room left to write" },
  STORE_READ_ONLY: { tries: 1, category: "storage", about: "the store cannot be written" },
  STORE_UNUSABLE: { tries: 1, category: "storage", about: "the store cannot be opened or was not created by Writ" },
  STORE_OLDER: { tries: 1, category: "storage", about: "the store has to be migrated before this version can use it" },
  STORE_NEWER: { tries: 1, category: "storage", about: "the store was written by a newer version" },
  STORE_FAILED: { tries: 1, category: "storage", about: "the store failed and nothing was written" },
  STORE_UNKNOWN: {
    tries: 1,
    category: "storage",
    about: "the store's answer was lost; it may or may not have written",
  },
  CHAIN_BROKEN: { tries: 1, category: "storage", about: "the journal was changed after it was written" },
  ENGINE_CLOSED: { tries: 1, category: "storage", about: "the engine was closed" },
} as const satisfies Record<string, FaultRow>;

export type FaultCode = keyof typeof faults;

/** A failure as data: it is recorded, compared and shown, so it holds no stack and no class. */
export interface Fault {
  readonly code: FaultCode;
  /** Says what happened, to which object, and what to do now. */
  readonly message: string;
  readonly detail?: Json;
}

/** True if the attempt does not count as a try: a conflicting change overtook it, or its tool was never called. */
export function isFreeRetry({ code }: Pick<Fault, "code">): boolean {
  return code === "STATE_CONFLICT" || code === "CALL_NOT_MADE";
}

export function fault(code: FaultCode, message: string, detail?: Json): Fault {
  return detail === undefined ? { code, message } : { code, message, detail };
}

/** The error by which a tool or the engine reports a fault. No other error is thrown on purpose. */
export class FaultError extends Error {
  override readonly name = "FaultError";
  readonly fault: Fault;

  constructor(fault: Fault, options?: ErrorOptions) {
    super(`${fault.code}: ${fault.message}`, options);
    this.fault = fault;
  }
}

/** A fault together with the tool's assurance that nothing happened, so that a retry is safe. */
export class NotDoneError extends FaultError {
  readonly done = false;
}

/** `throw expandVisibility(...)`: nothing was done; the caller shows these sections to the model and calls again. */
export function expandVisibility(sections: readonly string[], reason: string): NotDoneError {
  return new NotDoneError(fault("VISIBILITY_WANTED", reason, { sections }));
}

/** `throw notDone(...)` in an act: the act failed and changed nothing in the outside world. */
export function notDone(cause: Fault | FaultCode, message = "the tool says that nothing happened"): NotDoneError {
  return new NotDoneError(typeof cause === "string" ? fault(cause, message) : cause);
}
