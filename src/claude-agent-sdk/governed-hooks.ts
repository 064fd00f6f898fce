import type { Governed } from "../agents/governed.ts";
import { type CallAnswer, modelText } from "../core/run/call-answer.ts";
import { sameJson } from "../core/values/json.ts";
import type { HostReport } from "../engine/api/session-api.ts";
import { plainOutput } from "../engine/ports/plain-output.ts";
import { builtInTerms, timeLimitMs } from "./built-in-tools.ts";
import type { ClaudeCalls } from "./claude-calls.ts";

/** The input of a hook of the Claude Agent SDK, as far as the adapter reads it. */
export interface HookInput {
  readonly hook_event_name: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
  readonly tool_use_id?: string;
  readonly tool_response?: unknown;
  readonly error?: string;
  readonly is_interrupt?: boolean;
  /** The sub-agent in which the hook fires. */
  readonly agent_id?: string;
  readonly mcp_server?: { readonly name: string; readonly source: string };
  readonly tool_calls?: readonly {
    readonly tool_name: string;
    readonly tool_use_id: string;
    readonly tool_response?: unknown;
  }[];
}

export type ClaudeHook = (input: HookInput, id: string | undefined, options: HookOptions) => Promise<object>;

interface HookOptions {
  readonly signal?: AbortSignal;
}

/** Captures files around a call, so that a person can restore them. */
export interface CallCapture {
  /** Returns what ends the capture. Throws if the files cannot be captured; then the call is not made. */
  begin(id: string, tool: string): Promise<() => Promise<void>>;
}

/** The transcript of the session of Claude. */
interface Transcript {
  whenRecorded(what: "tool_use" | "tool_result", ids: readonly string[]): Promise<void>;
}

/** A call that Claude Code makes itself. */
interface BegunCall {
  readonly token: string;
  readonly release: () => Promise<void>;
}

const HOOK_SECONDS = 25 * 60 * 60;
const CUT_OFF =
  "In doubt: an equal call was cut off, and it may or may not have been done. Do not call again; a person finds out.";

/** The hooks that govern the tools that Claude Code runs itself. Tools of `inProcess` servers are governed where they run. */
export class GovernedHooks {
  readonly #governed: Governed;
  readonly #calls: ClaudeCalls;
  readonly #capture: CallCapture | null;
  readonly #begun = new Map<string, BegunCall>();
  /** Null: the program keeps the session of Claude itself. */
  transcript: Transcript | null = null;

  constructor(governed: Governed, calls: ClaudeCalls, capture: CallCapture | null) {
    this.#governed = governed;
    this.#calls = calls;
    this.#capture = capture;
  }

  /** Returns the option `hooks`: those of the program, and ours. A hook that fails blocks the call. */
  with(
    own: Readonly<Record<string, readonly object[]>>,
    inProcess: ReadonlySet<string>,
    abort: AbortSignal | undefined,
  ) {
    const added: Readonly<Record<string, ClaudeHook>> = {
      PreToolUse: (input, _, { signal }) => this.#before(input, inProcess, abort ?? signal),
      PostToolUse: (input) => this.#after(input, { output: input.tool_response }),
      PostToolUseFailure: (input) => this.#after(input, failureReport(input)),
      PostToolBatch: (input) => this.#afterAll(input),
      Stop: (input) => this.#seen(input),
      SubagentStop: (input) => this.#seen(input),
    };
    const hooks: Record<string, readonly object[]> = { ...own };
    for (const [event, hook] of Object.entries(added))
      hooks[event] = [...(own[event] ?? []), { hooks: [hook], timeout: HOOK_SECONDS, onFailure: "block" }];
    return hooks;
  }

  async #before(input: HookInput, inProcess: ReadonlySet<string>, signal: AbortSignal | undefined): Promise<object> {
    const { tool_name: tool = "", tool_input, tool_use_id: id = "", agent_id: agent, mcp_server: server } = input;
    if (signal?.aborted) return denied("Cancelled. The session was stopped, and no further call is made.");
    await this.#calls.seen(agent);
    const call = this.#calls.find({ id, tool, input: tool_input, agent });
    if (this.#isAct(tool)) await this.transcript?.whenRecorded("tool_use", [id]);
    if (server?.source === "sdk" && inProcess.has(server.name)) return {};
    const terms = builtInTerms(tool);
    this.#governed.declare([{ name: tool, ...(terms !== null && { terms }) }]);
    const forMs = timeLimitMs(tool, plainOutput(tool_input).value);
    const answer = await this.#governed.begin(call, { forMs, ...(signal !== undefined && { signal }) });
    if (!("go" in answer)) {
      this.#calls.answered(id, agent, answer);
      return denied(answerText(answer));
    }
    try {
      const release = (await this.#capture?.begin(id, tool)) ?? (async () => {});
      this.#begun.set(id, { token: answer.token, release });
    } catch (error) {
      const { message } = error as Error;
      await this.#governed.run.endCall(answer.token, { notDone: { message } });
      return denied(`Refused: ${message}. Nothing was done.`);
    }
    return sameJson(answer.input, plainOutput(tool_input).value)
      ? {}
      : decided({ permissionDecision: "allow", updatedInput: answer.input });
  }

  #isAct(tool: string): boolean {
    return (builtInTerms(tool)?.effect ?? this.#governed.effectOf(tool)) === "acts";
  }

  async #after({ tool_use_id: id = "", agent_id: agent }: HookInput, report: HostReport): Promise<object> {
    const begun = this.#begun.get(id);
    this.#begun.delete(id);
    if (begun === undefined) return {};
    try {
      this.#calls.answered(id, agent, await this.#governed.run.endCall(begun.token, report));
    } finally {
      await begun.release();
    }
    return {};
  }

  /** A call that was begun and is in the batch without a hook of its end was refused by the settings of Claude Code. */
  async #afterAll({ tool_calls = [], agent_id }: HookInput): Promise<object> {
    const acts = tool_calls.filter(({ tool_name }) => this.#isAct(tool_name));
    for (const { tool_use_id, tool_response } of tool_calls) {
      const message = typeof tool_response === "string" ? tool_response : "Claude Code did not make the call";
      const input = { hook_event_name: "PostToolBatch", tool_use_id, ...(agent_id !== undefined && { agent_id }) };
      await this.#after(input, { notDone: { message } });
      this.#calls.answered(tool_use_id, agent_id, { status: "succeeded" });
    }
    const ids = acts.map(({ tool_use_id }) => tool_use_id);
    await this.transcript?.whenRecorded("tool_result", ids);
    return {};
  }

  async #seen({ agent_id }: HookInput): Promise<object> {
    await this.#calls.seen(agent_id);
    return {};
  }
}

/** The exit code of a command is its output. Any other error leaves open what the tool has done. */
function failureReport({ tool_name, error = "", is_interrupt }: HookInput): HostReport {
  const [, code, output = ""] = /^Exit code (\d+)\n?([\s\S]*)$/u.exec(error) ?? [];
  const isExit = tool_name === "Bash" && code !== undefined && is_interrupt !== true;
  return isExit
    ? { output: { exit_code: Number(code), output } }
    : { fault: { message: error || "the call was stopped" } };
}

/** Claude Code makes a held call only if the model calls again after the approval. */
function answerText(answer: CallAnswer): string {
  const { text } = modelText(answer);
  switch (answer.status) {
    case "held":
      return `${text} After the approval, make the same call once more, with the same input.`;
    case "succeeded":
      return answer.reused === undefined ? `Done earlier, not done again. Its result: ${text}` : text;
    case "waiting":
      return answer.blocked.reason_code === "HOST_AT_WORK" ? CUT_OFF : text;
    default:
      return text;
  }
}

const denied = (permissionDecisionReason: string) => decided({ permissionDecision: "deny", permissionDecisionReason });
const decided = (decision: object) => ({ hookSpecificOutput: { hookEventName: "PreToolUse", ...decision } });
