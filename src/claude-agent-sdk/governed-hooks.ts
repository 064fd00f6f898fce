import type { CallsMadeAgain } from "../agents/calls-made-again.ts";
import type { HostCalls } from "../agents/host-calls.ts";
import type { TranscriptRecord } from "../agents/transcript-record.ts";
import { type CallAnswer, modelText } from "../core/run/call-answer.ts";
import type { HostReport } from "../engine/api/open-run-api.ts";
import { outputAsPlainData } from "../engine/ports/output-as-plain-data.ts";
import { builtInTerms, timeLimitMs } from "./built-in-tools.ts";

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
  readonly tool_calls?: readonly (Pick<HookInput, "tool_input" | "tool_response"> & {
    readonly tool_name: string;
    readonly tool_use_id: string;
  })[];
}

export type ClaudeHook = (
  input: HookInput,
  id: string | undefined,
  options: { readonly signal?: AbortSignal },
) => Promise<object>;

const HOOK_SECONDS = 25 * 60 * 60;
const CUT_OFF =
  "In doubt: an equal call was cut off, and it may or may not have been done. Do not call again; a person finds out.";

/** The hooks that govern the tools that Claude Code runs itself. Tools of `inProcess` servers are governed where they run. */
export class GovernedHooks {
  readonly #calls: CallsMadeAgain;
  readonly #work: HostCalls;
  /** Null: the program keeps the session of Claude itself. */
  transcript: TranscriptRecord | null = null;

  constructor(calls: CallsMadeAgain, work: HostCalls) {
    this.#calls = calls;
    this.#work = work;
  }

  /** Returns the option `hooks`: those of the program, and ours. A hook that fails blocks the call. */
  with(
    own: Readonly<Record<string, readonly object[]>>,
    inProcess: ReadonlySet<string>,
    abort: AbortSignal | undefined,
  ) {
    const end = async (id: string | undefined, report: HostReport) => {
      await this.#work.end(id ?? "", report);
      return {};
    };
    const added: Readonly<Record<string, ClaudeHook>> = {
      PreToolUse: (input, _, { signal }) => this.#before(input, inProcess, abort ?? signal),
      PostToolUse: ({ tool_use_id, tool_response }) => end(tool_use_id, { output: tool_response }),
      PostToolUseFailure: (input) => end(input.tool_use_id, failureReport(input)),
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
    const call = { id, tool, input: tool_input, agent };
    this.#calls.find(call);
    if (this.#calls.isAct(tool)) await this.transcript?.whenRecorded([`tool_use ${id}`]);
    if (server?.source === "sdk" && inProcess.has(server.name)) return {};
    const forMs = timeLimitMs(tool, outputAsPlainData(tool_input).value);
    try {
      const options = { forMs, ...(signal !== undefined && { signal }) };
      const answer = await this.#work.begin(call, builtInTerms(tool), options);
      if (!("go" in answer)) return denied(answerText(answer));
      return answer.input === null ? {} : decided({ permissionDecision: "allow", updatedInput: answer.input });
    } catch (error) {
      return denied(`Refused: ${(error as Error).message}. Nothing was done.`);
    }
  }

  /** A call that was begun and is in the batch without a hook of its end was refused by the settings of Claude Code. */
  async #afterAll({ tool_calls = [], agent_id }: HookInput): Promise<object> {
    for (const { tool_use_id: id, tool_name: tool, tool_input: input, tool_response } of tool_calls) {
      const message = typeof tool_response === "string" ? tool_response : "Claude Code did not make the call";
      const isAnswered = !this.#calls.forget(id) && message.startsWith("<tool_use_error>");
      const terms = message.includes("No such tool available") ? null : (builtInTerms(tool) ?? {});
      if (isAnswered) await this.#work.refuse({ id, tool, input, agent: agent_id }, terms, message);
      await this.#work.end(id, { notDone: { message } });
      this.#calls.answered(id, agent_id, { status: "succeeded" });
    }
    const acts = tool_calls.filter(({ tool_name }) => this.#calls.isAct(tool_name));
    await this.transcript?.whenRecorded(acts.map(({ tool_use_id }) => `tool_result ${tool_use_id}`));
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
