import type { Principal } from "../approval/principal.ts";
import type { Digest, RunId, WorkerId } from "../values/ids.ts";
import type { LeftAct } from "./left-act.ts";
import type { ModelRequest } from "./model-call.ts";

/** The session that an open run belongs to. One session has one open run at a time. */
export interface SessionSegment {
  /** The number of the run in its session, from 1. It is the version of the session's row from this event on. */
  readonly segment: number;
  /** The digest of what the first run of the session fixes for all of them. */
  readonly digest: Digest;
  /** The run before this one in the session. Absent for the first. */
  readonly previous?: RunId;
  /** The user or object that the session is about. Absent if the caller named none. */
  readonly subject?: string;
  readonly agent?: AgentVersion;
  /** How long the session may be idle before it is closed as abandoned. Absent for the default. */
  readonly idle_ms?: number;
  /** For a sub-agent: the session of the topmost agent, which pays for it. */
  readonly root?: string;
  /** The acts that a branch of the parent agent, or of the run before this one, has left. Absent if there are none. */
  readonly left?: readonly LeftAct[];
}

/** A sub-agent does the call; `run_id` is its run. */
export interface StepDelegated {
  readonly type: "step.delegated";
  readonly run_id: RunId;
}

/** The program that proposes the calls of a session. */
export interface AgentVersion {
  readonly name: string;
  readonly version?: string;
}

/** How the caller ends an open run. It is the status that the run ends with. */
export type CloseStatus = "completed" | "failed" | "abandoned";

/** The caller closed an open run: it takes no more calls, and calls that have not started are cancelled. */
export interface RunClosed {
  readonly type: "run.closed";
  readonly as: CloseStatus;
  readonly by: string;
  readonly reason: string;
  /** Present: the run was full, and the next run of its session takes the calls. */
  readonly continues?: true;
}

/** The worker that drove an open run has released it. Until the next call, the run is due only for its timers. */
export interface RunReleased {
  readonly type: "run.released";
  readonly by: WorkerId;
}

/** The answer of a call was handed to the client that asked for it, which may ask for an equal call from now on. */
export interface StepDelivered {
  readonly type: "step.delivered";
  /** The client, as it names itself. */
  readonly to: string;
}

/** The name that the agent gave a call. Within a turn, an id names one call. */
export interface CallName {
  readonly id: string;
  /** Absent: the id names one call of the whole session. */
  readonly turn?: string;
}

/** The origin of a step that an agent proposed. */
export interface AgentCause {
  readonly by: "agent";
  /** Absent for a model call. */
  readonly call?: CallName;
  /** Present if another call has the name: the digest of this one, which is refused. */
  readonly reuses?: Digest;
  /** Present if the step asks a model. */
  readonly model?: ModelRequest;
  /** The rights of the principal that proposed the call. Absent if they are those that the run was accepted with. */
  readonly principal?: Principal;
  /**
   * `caller`: the caller runs the call by a function of its own. `external`: the host of the agent does the work itself.
   * Absent: the handler of the tool does.
   */
  readonly handler?: "caller" | "external";
  /** The trace that the call was proposed in. Absent: that of the run. */
  readonly trace_id?: string;
}

/** The events of a call of an agent. */
export type SessionStepEvent = StepDelegated | StepDelivered;
