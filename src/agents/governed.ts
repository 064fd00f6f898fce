import type { CallAnswer } from "../core/run/call-answer.ts";
import type { RunResult } from "../core/run/run-result.ts";
import type { ToolContext } from "../core/tool/tool.ts";
import type { Effect } from "../core/values/effect.ts";
import type { PeerPackage } from "../core/values/peer-package.ts";
import type { BegunCall, CloseOptions, OpenRun } from "../engine/api/open-run-api.ts";
import type { PrincipalOptions } from "../engine/api/request-options.ts";
import type { FrameworkTool } from "./framework-tool.ts";
import type { RecordedFetchOptions } from "./recorded-fetch.ts";

/** A call that a framework is about to make. */
export interface FrameworkCall {
  /** The id that the model gave the call. */
  readonly id: string;
  readonly tool: string;
  /** The input as the framework parsed it. It need not be JSON. */
  readonly input: unknown;
  /**
   * The number of answers of the model before the one with this call, or the sub-agent that makes it. A recorded answer
   * is used instead.
   */
  readonly turn?: number | string;
}

/** The options of one call. */
export interface FrameworkCallOptions {
  /** The signal of the framework. It ends the wait; a call of a turn that was aborted is not made. */
  readonly signal?: AbortSignal;
}

/** The options of a call whose work the framework does itself. */
export interface FrameworkBeginOptions extends FrameworkCallOptions {
  /** How long the framework may take. An end that is not reported by then is unknown. */
  readonly forMs: number;
}

/** Makes a call by the framework's own function. `input` is the framework's object, unless a person edited the call. */
export type FrameworkHandler = (input: unknown, context: ToolContext) => unknown;

/** The decision of a person about a held call, as the data of a framework reports it. */
export interface CallDecision {
  /** The id that the model gave the call. */
  readonly id: string;
  readonly approved: boolean;
  readonly reason?: string;
  /** The input that the person saw. If the held call has another one, nothing is decided. */
  readonly input?: unknown;
}

/** The open run of a session, for the adapter of a framework. */
export interface Governed {
  readonly run: OpenRun;
  /** return: a held call is answered at once. wait: the call waits for the decision. */
  readonly hold: "return" | "wait";
  /** Declares tools of the framework. Their calls wait until they are registered. */
  declare(tools: readonly FrameworkTool[]): void;
  /** Prints one sentence if the library of a framework is missing or of a version that is not tested. */
  expectLibrary(library: PeerPackage, door: string): void;
  /** Returns the declared effect of a tool; `acts` if none is declared. */
  effectOf(tool: string): Effect;
  /** Records that the framework accepted the arguments. A call that is not made then has another cause. */
  acceptArguments(id: string): void;
  /** Judges a call without making it: returns its answer, or null if it may be made now. */
  judge(call: FrameworkCall, handler: FrameworkHandler): Promise<CallAnswer | null>;
  /** Makes a call by the function, or returns what became of it. */
  call(call: FrameworkCall, handler: FrameworkHandler, options?: FrameworkCallOptions): Promise<CallAnswer>;
  /** Lets the framework do the work of a call itself (`go`), or returns what became of it. `run.endCall` reports the end. */
  begin(call: FrameworkCall, options: FrameworkBeginOptions): Promise<BegunCall | CallAnswer>;
  /** Opens a second run of the session, which stores the data of the adapter. */
  openBeside(name: string): Promise<OpenRun>;
  /** Returns a `fetch` that records the answers of a model, so that a loop that starts again does not ask for them. */
  fetch(options?: RecordedFetchOptions): typeof globalThis.fetch;
  /** Records that a client confirmed a held call. A confirmation never counts as an approval. */
  confirm(call: Pick<FrameworkCall, "id" | "turn">, reason: string): Promise<void>;
  /** Decides held calls for the person whom your program has authenticated. */
  decide(decisions: readonly CallDecision[], options: PrincipalOptions): Promise<void>;
  /** Ends the run. The next opening of the session is a new run. */
  close(options?: CloseOptions): Promise<RunResult>;
}
