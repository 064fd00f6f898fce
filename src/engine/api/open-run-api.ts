import type { AgentVersion, CloseStatus } from "../../core/event/session.ts";
import type { ModelContent } from "../../core/model/model-content.ts";
import type { CallAnswer } from "../../core/run/call-answer.ts";
import type { RunResult } from "../../core/run/run-result.ts";
import type { ToolContext } from "../../core/tool/tool.ts";
import type { Mode } from "../../core/values/effect.ts";
import type { FaultCode } from "../../core/values/fault.ts";
import type { Instant, RunId, StepId } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import type { AskModel, ModelAnswer, ModelCallOptions } from "./model-api.ts";
import type { PrincipalOptions } from "./request-options.ts";

export interface OpenRunOptions extends PrincipalOptions {
  /** The conversation, thread or chat. With the principal, project and subject, it names one run. */
  readonly session: string;
  /** The project whose state the calls use. Default: the session has a state of its own. */
  readonly project?: string;
  /** The user or object that the session is about, such as the user of a chat. */
  readonly subject?: string;
  /** The program that proposes the calls. The first opening fixes it, the mode and the deadline. */
  readonly agent?: AgentVersion;
  /** The stricter of this and the mode of the tenant applies. Default: that of the tenant. */
  readonly mode?: Mode;
  /** The milliseconds after which the run is stopped. Default: never. */
  readonly deadlineMs?: number;
  /**
   * The call that this session does as a sub-agent: `run_id` and `step_id` of its context. The id of the run follows from
   * it, so that a parent finds its sub-agent again after a kill. Deadline, mode, project, budgets and cancellation are inherited.
   */
  readonly parent?: ParentCall;
  /** A W3C `traceparent`: the spans of the run continue its trace. Only the opening that creates the run sets it. */
  readonly traceId?: string;
  /** Lists show it. Only the opening that creates the run sets it. */
  readonly title?: string;
  /** Lists find the run by each label. Only the opening that creates the run sets them. */
  readonly labels?: readonly string[];
  /** The run is released after this time without a call. The next call takes it again. Default: 10 minutes. */
  readonly releaseMs?: number;
  /**
   * The engine closes the run as abandoned when nothing has happened in it for this time. Only the opening that
   * creates the run sets it. Default: 30 days.
   */
  readonly idleMs?: number;
  /**
   * How long to wait until another process gives the run up, before `SESSION_BUSY`. A process gives a run up when no
   * call of it runs. Default: 200; 0: not at all.
   */
  readonly waitMs?: number;
}

/** A call of an agent, by its run and step. */
export interface ParentCall {
  readonly runId: string;
  readonly stepId: string;
}

/** A call of a tool that an agent proposes. */
export interface AgentCall {
  /** The id that the model gave the call. The same id with the same tool and input is the same call. */
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

export interface CallTurnOptions {
  /** The turn that the id belongs to, where ids repeat. Default: the id names one call of the whole session. */
  readonly turn?: string | number;
  /** The lane whose recorded answer contains the id, where ids repeat between lanes. Default: any lane. */
  readonly lane?: string;
}

export interface CallsOptions extends CallTurnOptions {
  /** Ends the wait. A handler that does not act is aborted; an act ends by itself. */
  readonly signal?: AbortSignal;
  /** How long to wait for the decision of a person. Default: 0, so a held call is answered at once. */
  readonly waitMs?: number;
  /** A W3C `traceparent`: the spans of the calls continue its trace. Default: the trace of the run. */
  readonly traceId?: string;
}

export interface CallToolOptions extends CallsOptions {
  /**
   * Runs this call instead of the handler of the tool. It is dropped when `callTool` returns; a call that is approved
   * after that waits (`TOOL_AWAY`) until it is proposed again. Null: the caller gives it later. The call is judged now,
   * and waits if it may start.
   */
  readonly run?: ((input: Json, context: ToolContext) => unknown) | null;
  /** Keeps `run` after `callTool` returned a held call, while this process holds the run. */
  readonly keepHandler?: boolean;
}

export interface DeliveryOptions extends CallTurnOptions {
  /** The client that has the answer, as it names itself. */
  readonly to: string;
}

export interface ConfirmCallOptions extends CallTurnOptions {
  /** How the confirmation came, such as the client and its dialog. It is on record. */
  readonly reason?: string;
}

export interface BeginCallOptions extends CallsOptions {
  /** How long the host may take. An end that is not reported by then is unknown. Default: the timeout of the tool. */
  readonly forMs?: number;
}

/** The host may do the work now. */
export interface BegunCall {
  readonly go: true;
  /** Ends the call, from any process. It is stored only as a digest, so keep it until the call has ended. */
  readonly token: string;
  /** Stop by then. After it, an act is in doubt, and any other call has failed. */
  readonly until: Instant;
  /** The input to work with. An approver may have changed it. */
  readonly input: Json;
  /** Pass it to the receiver as the idempotency key. Empty for a tool that does not act. */
  readonly key: string;
  /** The W3C trace context of the work. Pass it on. */
  readonly traceparent: string;
}

/** How work that a host did itself ended. */
export type HostReport =
  | { readonly output: unknown }
  /** It failed. An act is in doubt, unless its tool says `errorsMean: "not_done"`. */
  | { readonly fault: ReportedFault }
  /** It failed, and nothing was done. */
  | { readonly notDone: ReportedFault };

export interface ReportedFault {
  readonly message: string;
  /** Default: TOOL_FAILED. */
  readonly code?: FaultCode;
}

export interface CloseOptions {
  /** The status that the run ends with. Default: completed. */
  readonly as?: CloseStatus;
  readonly reason?: string;
}

/** A call of a session. `answer` is null while the call moves by itself. */
export interface SessionCall extends Pick<AgentCall, "id" | "tool"> {
  readonly step_id: StepId;
  readonly input: Json;
  readonly answer: CallAnswer | null;
  /** True: the answer was handed to the client that asked for it (`markDelivered`). */
  readonly delivered: boolean;
}

/** A recorded request to a model, and its answer. */
export interface SessionModelCall {
  readonly step_id: StepId;
  readonly lane: string;
  /** The request without its messages. Contents that were not recorded, or were redacted, are digests. */
  readonly request: JsonObject;
  /** The messages of the request that the last answered request of its lane did not have. */
  readonly messages: readonly Json[];
  /** Null: there is no answer, or its content was not recorded. */
  readonly answer: ModelContent | null;
}

/** A model call and the tool calls of its answer, in the order in which they were proposed. */
export interface SessionTurn {
  /** Null: the tool calls were proposed without a recorded answer. */
  readonly model: SessionModelCall | null;
  /** Null: its calls were proposed without a turn. */
  readonly turn: string | null;
  readonly calls: readonly SessionCall[];
}

/** The open run of a session: calls are proposed one by one until it is closed. */
export interface OpenRun {
  /** The current run of the session. A run that is full is closed, and the next one takes the calls. */
  readonly run_id: RunId;
  /** True: the session had an open run. */
  readonly attached: boolean;
  /** Proposes a call, or finds what became of it. Resolves when the call goes no further by itself. */
  callTool(call: AgentCall, options?: CallToolOptions): Promise<CallAnswer>;
  /** Proposes all calls of a turn together, and returns their answers in order. No call ends another. */
  callTools(calls: readonly AgentCall[], options?: CallsOptions): Promise<readonly CallAnswer[]>;
  /**
   * Proposes a call whose work the host of the agent does itself. With `go`, the work may begin: its start is on disk. Any
   * other answer says why not.
   */
  beginCall(call: AgentCall, options?: BeginCallOptions): Promise<BegunCall | CallAnswer>;
  /** Reports how begun work ended, and returns what became of the call. `engine.endCall` does the same elsewhere. */
  endCall(token: string, report: HostReport): Promise<CallAnswer>;
  /**
   * Asks a model through `ask` and records its answer as a step. A loop that was killed asks the same again and gets the
   * recorded answers of its unfinished turn. A request that does not continue them is a branch.
   */
  recordModelCall(request: JsonObject, ask: AskModel, options?: ModelCallOptions): Promise<ModelAnswer>;
  /** Returns what became of a call, or null if it was not proposed. */
  findCall(id: string, options?: CallTurnOptions): Promise<CallAnswer | null>;
  /**
   * Records that the client that asked for the call has its answer. A surface whose clients send no call ids needs it to
   * tell a repeated question from a new call.
   */
  markDelivered(id: string, options: DeliveryOptions): Promise<void>;
  /**
   * Records that a client confirmed a held call, such as by the button of a chat. It meets a demand for a confirmation.
   * A call that needs an approval stays held: a person approves it by `engine.approve`.
   */
  confirmCall(id: string, options?: ConfirmCallOptions): Promise<void>;
  /**
   * Returns the messages, the model's answers and the calls of the session in the order in which they were proposed, also
   * of its earlier runs, as far as they are not erased.
   */
  turns(): Promise<readonly SessionTurn[]>;
  /** Ends the run. Calls that have not started are cancelled, and acts in flight end. The next opening is a new run. */
  close(options?: CloseOptions): Promise<RunResult>;
  /** Gives the run to other processes when its calls rest. It stays open. Refused while its host does a call itself. */
  release(): Promise<void>;
}
